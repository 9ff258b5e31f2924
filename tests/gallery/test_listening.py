"""Tests that `listen` decides early and keeps the rate that `calibrate_listening` guarantees."""

import contextlib
import dataclasses
import itertools
import json
import shutil
import sqlite3

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_dml._backend import keras
from keras_dml.evaluation import false_accepts
from keras_dml.gallery import Gallery
from keras_dml.gallery.boundary import compute_boundary
from keras_dml.gallery.listening import Listening
from keras_dml.layers import InputContract, QuantileLayer
from keras_dml.models import PrototypicalClassifier
from tests.gallery.people import CHANNELS, People

WINDOW, WINDOWS, VOLUNTEERS, FAR = 10, 4, 24, 0.1


@pytest.fixture(scope="module")
def people():
    return People()


@pytest.fixture(scope="module")
def once(model, people, tmp_path_factory):
    """Path of a gallery with a threshold of `listen`, and a recording of an enrolled person."""
    path = tmp_path_factory.mktemp("listening") / "family.db"
    with Gallery(path, model, tries=None) as opened:
        for name in ("alice", "bob"):
            opened.enroll(name, people(name, 3))
        names = np.repeat([f"volunteer {i}" for i in range(VOLUNTEERS)], 2)
        recordings = [people(name, 1, WINDOW * WINDOWS + 5)[0] for name in names]
        opened.calibrate_listening(recordings, names, FAR, window=WINDOW)
    return path, people("alice", 1, 90)[0]


@pytest.fixture
def gallery(model, once, tmp_path):
    shutil.copy(once[0], tmp_path)
    with Gallery(tmp_path / once[0].name, model, tries=None) as opened:
        yield opened


def heard(gallery, person, recording, sizes=(7,)):
    """Returns the state of a claim after each chunk of a recording.

    The lengths of the chunks follow the list `sizes`, which starts again after its end.
    """
    listening, answers, start = gallery.listen(person), [], 0
    while start < len(recording):
        size = sizes[len(answers) % len(sizes)]
        answers.append(listening.add(recording[start : start + size]))
        start += size
    return answers


@pytest.mark.slow
def test_a_genuine_claim_is_accepted_early(gallery, people):
    answers = heard(gallery, "alice", people("alice", 1, 100)[0])
    assert answers[0].answer == "undecided" and answers[0].score is None
    assert answers[-1].accepted and answers[-1].steps == WINDOW
    assert answers[-1].score <= answers[-1].threshold
    assert str(answers[-1]).startswith("alice accepted after 10 steps: ")


@pytest.mark.slow
def test_an_imposter_is_rejected_after_all_windows_at_the_latest(gallery, people):
    last = heard(gallery, "alice", people("bob", 1, 100)[0])[-1]
    assert last.accepted is False and last.answer == "rejected"
    assert WINDOW <= last.steps <= WINDOW * WINDOWS


def test_an_undecided_claim_is_rejected_after_the_last_window(gallery):
    limits = gallery.boundaries[FAR]
    wide = dataclasses.replace(limits, spread=2.0, reject_above=limits.value + 1)
    least = np.nextafter(wide.value, np.inf)  # too large to be accepted
    assert [wide.decide(least, wide.value, k) for k in range(1, 5)] == [None, None, None, False]
    mean = wide.value + 2.5  # the limits after 2 and 3 windows are 2.41 and 2.15 higher
    assert [wide.decide(least, mean, k) for k in range(1, 4)] == [None, False, False]
    assert [wide.decide(wide.value, mean, k) for k in range(1, 5)] == [True] * 4


@pytest.mark.slow
@given(st.lists(st.integers(0, 37), min_size=1, max_size=5).filter(any), st.booleans())
def test_the_size_of_chunks_changes_nothing(model, once, sizes, genuine):
    path, recording = once
    person = "alice" if genuine else "bob"
    with Gallery(path, model, tries=None) as gallery:
        whole = heard(gallery, person, recording, [len(recording)])[-1]
        last = heard(gallery, person, recording, sizes)[-1]
    assert (last.accepted, last.steps) == (whole.accepted, whole.steps)
    np.testing.assert_allclose(last.score, whole.score, rtol=1e-4)


def test_a_claim_is_rejected_by_the_mean_score_of_its_windows(gallery, people):
    """Tests the limit on both sides of the mean score of an imposter's first window."""
    recording = people("bob", 1, WINDOW)[0]
    score = gallery.listen("alice").add(recording).score
    limits, steps = gallery.boundaries[FAR], []
    for reject_above in (score - 1e-3, score + 1e-3):
        boundary = dataclasses.replace(limits, spread=0.0, reject_above=reject_above)
        claim = Listening(gallery, "alice", boundary, lambda: None)
        steps.append(claim.add(recording).answer)
    assert score > limits.value and steps == ["rejected", "undecided"]


def test_chunks_after_the_decision_are_ignored(gallery, people):
    listening = gallery.listen("alice")
    decided = listening.add(people("alice", 1, 100)[0])
    assert decided.accepted
    assert listening.add(people("bob", 1, 1000)[0]) == decided == listening.heard


@pytest.mark.parametrize("person", ["alice", "bob"])
def test_overlapping_chunks_give_the_windows_of_the_recording(gallery, people, person):
    """Tests that overlapping windows do not give the boundary more scores than windows that do not
    overlap."""
    recording = people(person, 1, 100)[0]
    expected, listening = gallery.listen("alice"), gallery.listen("alice")
    for start in range(0, 100 - WINDOW + 1, 2):
        heard_steps = listening.add(recording[start : start + WINDOW], start).steps
        assert heard_steps <= (start + WINDOW) // WINDOW * WINDOW
    expected.add(recording)
    assert listening.heard == expected.heard and expected.heard.accepted is not None


def test_chunks_with_a_gap_are_refused(gallery, people):
    listening, recording = gallery.listen("alice"), people("bob", 1, 12)[0]
    listening.add(recording[:4], 0)
    with pytest.raises(ValueError, match="is 5, but the recording has 4 steps"):
        listening.add(recording[5:], 5)
    with pytest.raises(TypeError):
        listening.add(recording, 4.0)
    listening.add(recording[:4], 0)  # again
    assert len(listening._rest) == 4
    listening.add(recording[2:7], 2)
    np.testing.assert_array_equal(listening._rest, recording[:7].astype(np.float32))


def test_listening_stores_less_than_a_window(gallery, people):
    listening = gallery.listen("alice")
    listening.add(people("bob", 1, 9)[0])
    listening.add(people("bob", 1, 3)[0])
    assert len(listening._rest) == 2 and listening._rest.base is None


def test_the_boundary_is_there_after_reopening(gallery, model, people):
    with Gallery(gallery.path, model) as again:
        assert again.boundaries == gallery.boundaries
        assert list(again.boundaries) == [FAR]
        assert again.listen("alice", far=FAR).add(people("alice", 1, 100)[0]).accepted


def test_a_boundary_states_its_promise_and_its_times(gallery):
    boundary = gallery.boundaries[FAR]
    assert (boundary.people, boundary.trials) == (VOLUNTEERS, 2 * VOLUNTEERS * (VOLUNTEERS - 1))
    assert boundary.windows == WINDOWS and boundary.seen < FAR and boundary.tar == 1.0
    assert boundary.steps_to_accept == WINDOW <= boundary.steps_to_reject <= WINDOW * WINDOWS
    assert str(boundary).startswith("FAR at most 10 % whenever a claim ends (")
    assert str(boundary).endswith("10 to accept, 10 to reject. Longest claim: 40 steps")
    json.dumps(vars(boundary), allow_nan=False)


def drawn(rng, people, windows=6):
    """Draws scores of claims with similar windows, for two recordings per person."""
    pair = rng.normal(4, 1, (people, people)) + rng.normal(0, 1, people)
    np.fill_diagonal(pair, 0)
    pair = pair[np.repeat(np.arange(people), 2)]
    claim = pair + rng.normal(0, 0.5, pair.shape)
    scores = claim[..., None] + rng.normal(0, 1, (*pair.shape, windows))
    probes, claims = np.indices(pair.shape)
    return scores.reshape(-1, windows), probes.ravel() // 2, claims.ravel()


def decisions(boundary, scores):
    """Returns the decision on each claim, and the number of windows until the decision."""
    answers, times = [], []
    for trial in scores:
        steps = (boundary.decide(min(trial[:k]), np.mean(trial[:k]), k) for k in heard_of(trial))
        answer, time = next((a, k) for k, a in enumerate(steps, start=1) if a is not None)
        answers.append(answer)
        times.append(time)
    return np.array(answers), np.array(times)


def heard_of(trial):
    return range(1, len(trial) + 1)


def test_the_promise_holds_for_new_people_whenever_a_claim_ends():
    """The mean false match rate of 30 calibrations is at most the guaranteed rate."""
    rng, rates, missed = np.random.default_rng(0), [], []
    for _ in range(30):
        boundary = compute_boundary(*drawn(rng, 24), 0.15, 1)
        scores, probes, claims = drawn(rng, 24)
        accepted, _ = decisions(boundary, scores)
        differs = probes != claims
        people = probes[differs], claims[differs]
        rates.append(false_accepts(-accepted[differs].astype(float), people, -0.5).rate)
        missed.append(1 - accepted[~differs].mean())
    assert np.mean(rates) <= 0.15 and 0 < np.mean(missed) < 0.5


ORDERS = {
    "the best window in a loop": lambda scores: np.repeat(scores.min(1, keepdims=True), 12, axis=1),
    "the best window first": lambda scores: np.sort(scores, axis=1),
    "the last window first": lambda scores: scores[:, ::-1],
}


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_the_promise_holds_for_windows_in_any_order(order):
    """If thresholds applied to mean scores, repeating the best window would pass 42 % of claims."""
    rng, rates = np.random.default_rng(0), []
    for _ in range(60):
        limits = compute_boundary(*drawn(rng, 8, 12), 0.3, 1)
        scores, probes, claims = drawn(rng, 12, 12)
        differs = probes != claims
        accepted, _ = decisions(limits, ORDERS[order](scores[differs]))
        rates.append(accepted.mean())
    assert 0.05 < np.mean(rates) <= 0.2


@pytest.fixture(scope="module")
def alike(model, tmp_path_factory):
    """A gallery of people who resemble each other, and false claims.

    Each claim is a tuple: the claimed person, the windows of the recording, the index of the best
    window, and whether a window is accepted.
    """
    rng = np.random.default_rng(0)

    def recordings(people):
        levels = rng.normal(scale=2, size=(people, 1, 1, 1, CHANNELS))
        levels = levels + rng.normal(size=(people, 2, WINDOWS, 1, CHANNELS))  # levels of windows
        steps = levels + rng.normal(size=(people, 2, WINDOWS, WINDOW, CHANNELS))
        return steps.reshape(people, 2, WINDOWS * WINDOW, CHANNELS)

    path = tmp_path_factory.mktemp("alike") / "alike.db"
    with Gallery(path, model, tries=None) as gallery:
        volunteers = recordings(12)
        names = np.repeat(np.arange(12), 2)
        gallery.calibrate_listening(list(np.concatenate(volunteers)), names, 0.3, window=WINDOW)
        for name, pair in zip("abcd", recordings(4), strict=True):
            gallery.enroll(name, list(pair))
        claims = []
        for recording in recordings(8)[:, 0]:
            windows = recording.reshape(WINDOWS, WINDOW, CHANNELS)
            for person in gallery.people():
                first = [gallery.listen(person).add(window) for window in windows]
                best = np.argmin([heard.score for heard in first])
                claims.append((person, windows, best, any(heard.accepted for heard in first)))
        yield gallery, claims


def with_noise(window, fraction, rng):
    return window + fraction * window.std(axis=0) * rng.normal(size=window.shape)


LOOPS = {
    "as it is": lambda window, rng: window,
    "noise of 1 %": lambda window, rng: with_noise(window, 0.01, rng),
    "noise of 5 %": lambda window, rng: with_noise(window, 0.05, rng),
    "gain": lambda window, rng: window * rng.uniform(0.98, 1.02),
    "offset": lambda window, rng: window + rng.uniform(-0.02, 0.02),
    "another start": lambda window, rng: np.roll(window, rng.integers(WINDOW), axis=0),
    "reversed in time": lambda window, rng: window[::-1],
}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            change, marks=[pytest.mark.slow] * (change not in ("as it is", "noise of 1 %"))
        )
        for change in LOOPS
    ],
)
def test_the_best_window_in_a_loop_is_accepted_no_more_often_than_promised(alike, change):
    gallery, claims = alike
    rng, loops, honest = np.random.default_rng(1), [], [claim[-1] for claim in claims]
    for person, windows, best, _ in claims:
        loop = np.concatenate([LOOPS[change](windows[best], rng) for _ in range(WINDOWS)])
        loops.append(gallery.listen(person).add(loop).accepted)
    assert 0 < np.mean(honest) <= 0.3 and np.mean(loops) <= 0.3
    if change == "as it is":
        assert loops == honest


@pytest.mark.slow
def test_the_order_of_the_windows_changes_nothing(alike):
    gallery, claims = alike
    person, windows, *_ = claims[0]
    patient = dataclasses.replace(gallery.boundaries[0.3], value=-1.0, reject_above=1e9)
    scores = []
    for order in itertools.permutations(range(WINDOWS)):
        listening = gallery.listen(person)
        listening._boundary = patient
        scores.append(listening.add(np.concatenate(windows[list(order)])).score)
    assert len(scores) == 24 and np.ptp(scores) <= 1e-5 * scores[0]


def test_a_boundary_of_an_earlier_version_is_refused(gallery, model):
    with contextlib.closing(sqlite3.connect(gallery.path)) as database, database:
        database.execute("UPDATE boundaries SET found = json_remove(found, '$.accepts_by')")
    with Gallery(gallery.path, model) as again:
        assert again.boundaries[FAR].accepts_by == "mean"
        assert "`listen` refuses" in str(again.boundaries[FAR])
        for far in (None, FAR):
            with pytest.raises(ValueError, match="FAR 10 %.*`calibrate_listening`"):
                again.listen("alice", far=far)


def test_the_stated_rates_and_times_are_those_of_the_people_it_was_set_on():
    scores, probes, claims = drawn(np.random.default_rng(1), 30)
    boundary = compute_boundary(scores, probes, claims, 0.2, 5)
    accepted, times = decisions(boundary, scores)
    genuine = probes == claims
    assert accepted[genuine].mean() == pytest.approx(boundary.tar)
    assert accepted[~genuine].mean() <= boundary.seen
    assert 5 * np.median(times[genuine & accepted]) == boundary.steps_to_accept
    assert 5 * np.median(times[~genuine & ~accepted]) == boundary.steps_to_reject


def test_one_window_is_a_threshold():
    scores, probes, claims = drawn(np.random.default_rng(0), 30)
    boundary = compute_boundary(scores[:, :1], probes, claims, 0.2, 5)
    assert boundary.spread == 0 and boundary.limits(1)[0] == boundary.value
    above = boundary.value + 0.1
    assert boundary.decide(boundary.value, boundary.value, 1) is True
    assert boundary.decide(above, above, 1) is False


def test_too_few_people_are_refused(gallery, people):
    with pytest.raises(ValueError, match="17 people cannot guarantee FAR 5 % .* needs 18"):
        scores, probes, claims = drawn(np.random.default_rng(0), 17)
        compute_boundary(scores, probes, claims, 0.05, 5)


def test_listening_reads_only_the_templates_of_the_person_claimed(gallery, people, monkeypatch):
    read, templates = [], gallery._records.templates

    def recorded(names=None):
        read.append(names)
        return templates(names)

    monkeypatch.setattr(gallery._records, "templates", recorded)
    gallery.listen("alice").add(people("alice", 1, WINDOW)[0])
    assert len(read) > 1 and all(names == ["alice"] for names in read)


def test_a_window_that_was_marked_as_another_s_is_rejected(gallery, people):
    twin = people("alice", 1, WINDOW)
    gallery.reject("alice", twin)
    denied = gallery.listen("alice").add(twin[0])
    assert denied.accepted is False and denied.denied and "imposter" in str(denied)


@pytest.mark.slow
def test_seconds_are_stated_if_the_model_states_its_rate(people, tmp_path):
    signal = keras.Input((None, CHANNELS))
    x = InputContract(channels=list("xyz"), units="g", rate_hz=20)(signal)
    model = keras.Model(signal, QuantileLayer(6)(x), name="timed")
    with Gallery(tmp_path / "timed.db", model) as gallery:
        gallery.enroll("alice", people("alice", 3))
        names = np.repeat(np.arange(VOLUNTEERS), 2)
        recordings = [people(str(name), 1, 40)[0] for name in names]
        gallery.calibrate_listening(recordings, names, FAR, window=WINDOW)
        answer = gallery.listen("alice").add(people("alice", 1, 100)[0])
    assert answer.seconds == 0.5 and "after 10 steps (0.5 s)" in str(answer)


@pytest.mark.slow
def test_a_model_of_one_length_sets_the_window(people, tmp_path):
    signal = keras.Input((WINDOW, CHANNELS))
    model = keras.Model(signal, QuantileLayer(6)(signal), name="fixed")
    with Gallery(tmp_path / "fixed.db", model) as gallery:
        names = np.repeat(np.arange(VOLUNTEERS), 2)
        recordings = [people(str(name), 1, WINDOW)[0] for name in names]
        assert gallery.calibrate_listening(recordings, names, FAR).window == WINDOW
        with pytest.raises(ValueError, match="`window` is 5, .* windows of 10 steps"):
            gallery.calibrate_listening(recordings, names, FAR, window=5)


def test_listen_needs_a_boundary(model, people, tmp_path):
    with Gallery(tmp_path / "new.db", model) as gallery:
        gallery.enroll("alice", people("alice", 3))
        with pytest.raises(ValueError, match="Use `calibrate_listening`"):
            gallery.listen("alice")


def test_a_rate_that_was_not_set_is_refused(gallery):
    with pytest.raises(ValueError, match=r"`far` is 0\.05, .* must be a rate that was set: 0\.1"):
        gallery.listen("alice", far=0.05)


def test_listen_refuses_an_unknown_person(gallery, people):
    with pytest.raises(KeyError, match="Nobody named 'zoe'"):
        gallery.listen("zoe")
    listening = gallery.listen("bob")
    gallery.remove("bob")
    with pytest.raises(KeyError, match="Nobody named 'bob'"):
        listening.add(people("bob", 1, 50)[0])


@pytest.mark.parametrize(
    "chunk, message",
    [
        (np.zeros((5, CHANNELS + 1)), r"`chunk` has shape \(5, 4\), .* 3 channels"),
        (np.zeros(5), r"`chunk` has shape \(5,\)"),
        (np.full((5, CHANNELS), np.nan), "`chunk` holds NaN or infinity"),
    ],
)
def test_an_invalid_chunk_is_ignored(gallery, people, chunk, message):
    listening = gallery.listen("alice")
    listening.add(people("alice", 1, 5)[0])
    with pytest.raises(ValueError, match=message):
        listening.add(chunk)
    assert listening.add(people("alice", 1, 5)[0]).accepted


def test_recordings_shorter_than_a_window_are_refused(gallery, people):
    short = [*people("x"), *people("y", 2), people("y", 1, 4)[0]]
    with pytest.raises(ValueError, match="Recording 6 has 4 steps, fewer than a window of 10"):
        gallery.calibrate_listening(short, list("xxxxyyy"), 0.5, window=WINDOW)
    with pytest.raises(ValueError, match="Set `window`"):
        gallery.calibrate_listening(people("x") + people("y"), list("xxxxyyyy"), 0.5)


def test_images_cannot_be_listened_to(tmp_path):
    image = keras.Input((4, 4, 1))
    encoder = keras.Model(image, keras.layers.Flatten()(image))
    with Gallery(tmp_path / "images.db", PrototypicalClassifier(encoder, 2)) as gallery:
        images = [np.zeros((4, 4, 1), "float32")] * 4
        with pytest.raises(ValueError, match="The model takes images of shape"):
            gallery.calibrate_listening(images, list("xxyy"), 0.5)


def test_limits_of_a_boundary_are_those_of_a_loop_over_its_claims():
    scores, probes, claims = drawn(np.random.default_rng(2), 30)
    limits = compute_boundary(scores, probes, claims, 0.2, 5)
    false_claims = [trial for trial, p, c in zip(scores, probes, claims, strict=True) if p != c]
    variances = [np.sum((trial - trial.mean()) ** 2) / (len(trial) - 1) for trial in false_claims]
    assert limits.spread == pytest.approx(np.sqrt(np.mean(variances)))
    undecided = [limits.value]
    for trial in scores[probes == claims]:
        for k in range(1, len(trial) + 1):
            if min(trial[:k]) <= limits.value:
                break
            undecided.append(np.mean(trial[:k]) - limits.spread / np.sqrt(k))
    assert limits.reject_above == pytest.approx(max(undecided))
    assert len(undecided) > 10
    last = scores[probes != claims].shape[1]
    assert limits.limits(last) == pytest.approx(
        (limits.value, limits.reject_above + limits.spread / last**0.5)
    )


@pytest.mark.slow
def test_listening_keeps_a_twentieth_of_false_claims_by_default(gallery, people):
    """With 17 people, the default rate of 5 % is refused, because it needs 18 people."""
    names = np.repeat([f"volunteer {i}" for i in range(17)], 2)
    recordings = [people(name, 1, WINDOW * WINDOWS)[0] for name in names]
    with pytest.raises(ValueError, match="FAR 5 %"):
        gallery.calibrate_listening(recordings, names, window=WINDOW)


def test_a_claim_is_denied_only_if_a_recording_was_rejected(gallery, people):
    assert not gallery.listen("alice").heard.denied
    assert not any(answer.denied for answer in heard(gallery, "alice", people("bob", 1, 50)[0]))
    marked = people("alice", 1, 10)[0]
    gallery.reject("alice", marked)
    answers = heard(gallery, "alice", np.tile(marked, (10, 1)))
    assert answers[-1].denied and answers[-1].accepted is False
