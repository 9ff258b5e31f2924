"""Tests the speech data of the voice recipes: trimming, folds, trials, and augmentation."""

import numpy as np
import pytest
from scipy import signal

from keras_dml import evaluation, inference
from keras_dml._backend import keras
from keras_dml.layers import LearnedSimilarity
from keras_dml.samplers import PKSampler
from keras_dml.training import People
from tests.tfds_builders import media, samples
from tfds_builders import reading
from zoo import calibration, speech, speech_augment
from zoo.voice_logcov_lda import encoder

RATE = 16_000
SPEAKERS = [f"{actor:02d}" for actor in range(1, 25)]


def tone(samples, hertz=200.0, level=0.1):
    return (level * np.sin(2 * np.pi * hertz * np.arange(samples) / RATE)).astype(np.float32)


def voices(rng, speakers=("01", "02", "03", "04"), each=3, samples=6_000):
    signals = [
        rng.normal(size=(samples + 100 * i, 1)).astype(np.float32)
        for i in range(len(speakers) * each)
    ]
    return People(signals, np.repeat(speakers, each).tolist(), list(range(each)) * len(speakers))


def test_silence_around_speech_is_cut_and_pauses_in_it_stay():
    silence, murmur = np.zeros(8_000, np.float32), tone(8_000, level=0.1 * 10 ** (-45 / 20))
    sound = np.concatenate([silence, murmur, tone(4_800), silence, tone(4_800), murmur])
    cut = speech.prepared(sound)
    assert abs(len(cut) - (4_800 + 8_000 + 4_800 + 2 * speech.MARGIN)) <= 2 * speech.BLOCK
    assert cut.dtype == np.float32
    assert np.sqrt(np.mean(cut.astype(float) ** 2)) == pytest.approx(speech.LEVEL, rel=1e-5)


def test_the_level_of_a_recording_does_not_matter():
    sound = np.concatenate([np.zeros(5_000, np.float32), tone(9_000)])
    np.testing.assert_allclose(
        speech.prepared(sound / 64), speech.prepared(sound), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("sound", [np.zeros(9_000, np.float32), tone(200)])
def test_a_recording_without_speech_is_refused(sound):
    with pytest.raises(ValueError, match="must contain speech"):
        speech.prepared(sound)


def test_utterances_come_once_in_order_with_speaker_and_sentence(tmp_path, monkeypatch):
    files = {
        media.speech_name(actor, repetition=repetition): media.wav_file(
            media.speech(10 * actor + repetition, samples=24_000)
        )
        for actor in media.ACTORS
        for repetition in (1, 2)
    }
    files[media.speech_name(3, repetition=2)] = files[media.speech_name(3, repetition=1)]
    manual = samples.write(tmp_path / "manual", files)
    monkeypatch.setattr(speech, "read", lambda name: reading.records(name, manual, tmp_path / "d"))
    people = speech.utterances()
    assert people.subjects == ["01", "01", "02", "02", "03", "04", "04", "05", "05", "06", "06"]
    assert set(people.sessions) == {"0/1"}
    whole = speech.utterances(prepare=False)
    assert whole.signals[0].shape == (8_000, 1) and whole.signals[0].dtype == np.float32
    assert all(len(a) < len(b) for a, b in zip(people.signals, whole.signals, strict=True))


@pytest.mark.parametrize("speakers", [SPEAKERS, SPEAKERS[:20]])
def test_folds_hold_everybody_once_and_as_many_men_as_women(speakers):
    parts = speech.folds(speakers)
    assert sorted(sum(parts, ())) == speakers
    assert parts == speech.folds(speakers[::-1] * 2)
    for part in parts:
        assert 2 * sum(int(speaker) % 2 for speaker in part) == len(part)
    if len(speakers) == 20:
        assert [len(part) for part in parts] == [4] * 5


def test_too_few_men_for_the_folds_are_told():
    with pytest.raises(ValueError, match=r"4 subject\(s\) cannot be divided"):
        speech.folds(SPEAKERS[:8] + SPEAKERS[9::2])


def test_trials_are_all_pairs_within_a_fold_and_none_across():
    subjects = np.repeat(SPEAKERS[:20], 12)[:-1]  # one utterance is missing
    parts = speech.folds(subjects)
    first, second, genuine, fold = speech.trials(subjects, parts)
    assert len(first) == 4 * 1_128 + 47 * 46 // 2
    assert genuine.sum() == 19 * 66 + 55
    assert (first < second).all() and len(set(zip(first, second, strict=True))) == len(first)
    for trial in range(0, len(first), 97):
        assert {subjects[first[trial]], subjects[second[trial]]} <= set(parts[fold[trial]])
    np.testing.assert_array_equal(genuine, subjects[first] == subjects[second])


def test_another_speed_is_another_speaker_with_another_pitch():
    people = People([tone(16_000, 1_000)[:, None]], ["07"], ["0/1"])
    changed = speech_augment.with_speeds(people)
    factors = (1, 0.8, 0.9, 1.1, 1.2)
    assert changed.subjects == ["07", *(f"07@{factor}" for factor in factors[1:])]
    assert changed.sessions == ["0/1"] * 5
    for sound, factor in zip(changed.signals, factors, strict=True):
        assert len(sound) == pytest.approx(16_000 / factor, abs=1) and sound.dtype == np.float32
        power = np.abs(np.fft.rfft(sound[:, 0]))
        assert power.argmax() * RATE / len(sound) == pytest.approx(1_000 * factor, abs=2)


def test_short_recordings_go_on_with_others_of_their_speaker(rng):
    people = People(
        [np.full((n, 1), value, np.float32) for n, value in ((50, 1), (60, 2), (90, 3), (400, 4))],
        ["ann", "ann", "bob", "bob"],
        [0, 1, 0, 1],
    )
    longer = speech_augment.joined(people, 200, seed=3)
    again = speech_augment.joined(people, 200, seed=3)
    own = {"ann": {1, 2}, "bob": {3, 4}}
    for before, after, same, subject in zip(
        people.signals, longer.signals, again.signals, people.subjects, strict=True
    ):
        assert len(after) >= 200 and set(np.unique(after)) <= own[subject]
        np.testing.assert_array_equal(after[: len(before)], before)
        np.testing.assert_array_equal(after, same)
    assert longer.signals[3] is people.signals[3]  # already long enough


def test_batches_are_disturbed_the_same_for_a_seed_and_otherwise_for_another(rng):
    people = voices(rng)

    def batch(seed):
        augment = speech_augment.Disturb(2)
        sampler = PKSampler(
            people.signals, people.subjects, 3, 2, length=4_000, augment=augment, seed=seed
        )
        return sampler[0]

    (x, y), (again, _), (other, _) = batch(1), batch(1), batch(2)
    np.testing.assert_array_equal(x, again)
    assert x.shape == (6, 4_000, 1) and x.dtype == np.float32 and np.isfinite(x).all()
    assert y.shape == (6,) and not np.array_equal(x, other)


def test_nothing_is_disturbed_without_room_and_noise(rng):
    batch = rng.normal(size=(4, 500, 1)).astype(np.float32)
    kept = batch.copy()
    np.testing.assert_array_equal(
        speech_augment.Disturb(2, reverberant=0, noisy=0)(batch, rng), kept
    )
    speech_augment.Disturb(2, reverberant=1, noisy=1)(batch, rng)
    np.testing.assert_array_equal(batch, kept)  # the input batch is not changed


def test_babble_is_of_other_speakers(rng, monkeypatch):
    monkeypatch.setattr(speech_augment, "NOISES", ("babble",))
    batch = np.zeros((6, 400, 1), np.float32)
    batch[:2] = rng.normal(size=(2, 400, 1))  # one speaker has noise and two are silent
    heard = speech_augment.Disturb(2, reverberant=0, noisy=1)(batch, rng)
    np.testing.assert_allclose(
        heard[:2], batch[:2], rtol=0, atol=1e-6
    )  # babble of silent speakers changes nothing


def test_noise_has_the_ratio_that_was_asked_for(rng):
    sound, noise = tone(8_000), rng.normal(size=8_000).astype(np.float32)
    added = speech_augment.with_noise(sound, noise, 12.0) - sound
    ratio = 10 * np.log10(np.mean(sound**2) / np.mean(added**2))
    assert ratio == pytest.approx(12, abs=1e-3)


@pytest.mark.parametrize(("kind", "slope"), [("white", 0), ("pink", -1)])
def test_the_color_of_noise_is_the_slope_of_its_spectrum(kind, slope, rng):
    noise = speech_augment.colored_noise(1 << 16, kind, rng)
    assert noise.std() == pytest.approx(1, abs=0.02)
    frequency, power = signal.welch(noise, nperseg=1_024)
    fit = np.polyfit(np.log(frequency[4:-4]), np.log(power[4:-4]), 1)
    assert fit[0] == pytest.approx(slope, abs=0.1)


def test_an_echo_comes_after_the_sound_and_dies_away(rng):
    clicks = np.zeros((20, RATE), np.float32)
    clicks[:, 1_000] = 1
    heard = speech_augment.reverberated(clicks, rng, RATE)
    assert heard.shape == clicks.shape
    assert np.abs(heard[:, :1_000]).max() < 1e-5  # silence before the direct sound
    assert (np.abs(heard).argmax(axis=1) == 1_000).all()  # the direct sound is the loudest
    np.testing.assert_allclose(np.mean(heard**2, axis=1), np.mean(clicks**2, axis=1), rtol=1e-4)
    early, late = np.mean(heard[:, 1_001:2_000] ** 2), np.mean(heard[:, 8_000:9_000] ** 2)
    assert late < early / 100


def test_a_telephone_keeps_its_band_and_its_8_bits_are_heard_a_little(rng):
    heard = {}
    for hertz in (100, 1_000, 2_500, 6_000):
        sound = tone(16_000, hertz)[None]
        after = speech_augment.over_telephone(sound, RATE)
        assert after.shape == sound.shape and after.dtype == np.float32
        heard[hertz] = 10 * np.log10(np.mean(after[:, 4_000:] ** 2) / np.mean(sound**2))
    assert abs(heard[1_000]) < 0.5 and abs(heard[2_500]) < 0.5
    assert heard[100] < -30 and heard[6_000] < -15
    levels = np.unique(speech_augment.over_telephone(tone(16_000, 1_000)[None], RATE))
    assert 50 < len(levels) < 256


def test_as_many_rows_as_asked_for_are_heard_over_a_telephone(rng):
    batch = rng.normal(scale=0.1, size=(200, 800, 1)).astype(np.float32)
    disturb = speech_augment.Disturb(2, reverberant=0, noisy=0, distant=0.3)
    changed = (disturb(batch, rng) != batch).any(axis=(1, 2))
    assert 40 < changed.sum() < 80


@pytest.mark.slow
def test_the_real_speech_makes_239_utterances_and_5593_trials(data_dir):
    people = speech.utterances()
    assert len(people.signals) == 239 and len(set(people.subjects)) == 20
    seconds = np.array([len(sound) / RATE for sound in people.signals])
    assert 1.2 < seconds.min() and 1.9 < np.median(seconds) < 2.2
    _, _, genuine, _ = speech.trials(people.subjects, speech.folds(people.subjects))
    assert (genuine.sum(), (~genuine).sum()) == (1_309, 4_284)


def test_a_calibrated_similarity_keeps_its_order_and_its_zero_is_as_likely_as_not(rng):
    layer = LearnedSimilarity((4,), symmetry="absdiff")
    x, y = rng.normal(size=(2, 5, 3)).astype("float32")
    before = np.asarray(layer(x, y))
    genuine = rng.random(4_000) < 0.2
    ratios = rng.normal(np.where(genuine, 2, -2), 2)  # these scores are log-likelihood ratios
    scale, shift = calibration.log_odds(0.5 * ratios - 7, genuine)
    assert scale == pytest.approx(2, rel=0.1) and shift == pytest.approx(14, rel=0.1)
    calibration.calibrate(layer, scale, shift)
    np.testing.assert_allclose(np.asarray(layer(x, y)), scale * before + shift, rtol=1e-4)


def test_the_encoder_begins_at_discriminants_that_part_voices(rng):
    bands = [signal.firwin(65, [low, low + 400], pass_zero=False, fs=RATE)
             for low in range(200, 7_000, 85)]  # fmt: skip
    speakers = len(bands)
    sounds = [
        signal.lfilter(bands[i % speakers], 1, rng.normal(size=9_000))[:, None].astype("float32")
        for i in range(2 * speakers)
    ]
    network = encoder.network(15)
    statistics = keras.Model(network.input, network.get_layer("statistics").output)
    x = inference.embed(statistics, sounds, progress=False)
    parts = encoder.discriminants(x, np.arange(2 * speakers) % speakers)
    network.get_layer("embedding").set_weights(parts)
    z = inference.embed(network, sounds, progress=False)
    alike = evaluation.paired_cosine(z[:speakers], z[speakers:])
    others = evaluation.paired_cosine(z[:speakers], np.roll(z[speakers:], speakers // 2, axis=0))
    assert alike.mean() > others.mean() + 0.5


def test_the_cepstra_are_those_that_part_speakers_unseen(rng, monkeypatch):
    """Tests the choice of the number of cepstra. In this test, only the statistics of 13 cepstra
    distinguish speakers.
    """
    subjects = [f"{k:02d}{speed}" for speed in ("", "@0.8") for k in range(1, 17) for _ in range(4)]
    own = np.repeat(np.tile(rng.normal(size=(16, 90)), (2, 1)), 4, axis=0)
    noise = rng.normal(size=own.shape)
    voices = encoder.Voices(
        People([None] * len(subjects), subjects, [0] * len(subjects)),
        {12: noise, 13: own + 0.2 * noise, 14: noise[::-1]},
    )
    seen, discriminants = [], encoder.discriminants

    def recorded(x, names):
        seen.append({name.split("@")[0] for name in names})
        return discriminants(x, names)

    monkeypatch.setattr(encoder, "discriminants", recorded)
    assert encoder.choose_cepstra(voices) == 13
    everyone = set(voices.speakers)
    parts = [set(part) for part in speech.folds(sorted(everyone), encoder.INNER_FOLDS)]
    assert seen == 3 * [everyone - part for part in parts]
    rest = voices.without(("01", "02"))
    assert set(rest.speakers) == {f"{k:02d}" for k in range(3, 17)}
    np.testing.assert_array_equal(rest.statistics[12], noise[voices.speakers > "02"])


def test_a_fold_is_scaled_by_the_others(rng):
    genuine, fold = rng.random(3_000) < 0.3, np.repeat(np.arange(3), 1_000)
    similarities = rng.normal(np.where(genuine, 1, -1))
    ratios = calibration.calibrated(similarities, genuine, fold)
    turned = genuine.copy()
    turned[fold == 2] ^= True
    again = calibration.calibrated(similarities, turned, fold)
    np.testing.assert_array_equal(ratios[fold == 2], again[fold == 2])
    assert (ratios[fold < 2] != again[fold < 2]).all()
