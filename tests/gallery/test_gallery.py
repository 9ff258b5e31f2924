"""Tests that `Gallery` enrolls, verifies, identifies, calibrates and removes people."""

import dataclasses
import pathlib
import re
import sqlite3
import unicodedata

import numpy as np
import pytest

import keras_dml
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.evaluation import false_accepts
from keras_dml.gallery import (
    Gallery,
    Threshold,
    calibration,
    enrollment,
    keras_model,
    template_files,
)
from keras_dml.gallery.results import Candidate, GroupRate, Identification
from keras_dml.layers import Covariance, InputContract, MaskedAveragePooling1D, QuantileLayer
from keras_dml.models import PrototypicalClassifier
from tests.evaluation.people import claims
from tests.gallery.people import CHANNELS

FILES = ["file", "encrypted file"]


@pytest.fixture
def gallery(model, people, place):
    with Gallery(model=model, tries=None, **place) as opened:
        for name in ("alice", "bob", "carol"):
            opened.enroll(name, people(name))
        yield opened


def calibrated(gallery, people, far=0.05, volunteers=24, **options):
    names = [f"volunteer {i}" for i in range(volunteers)]
    recordings = [recording for name in names for recording in people(name)]
    return gallery.calibrate(recordings, np.repeat(names, 4), far, **options)


def test_people_are_verified_and_others_are_not(gallery, people):
    calibrated(gallery, people)
    assert gallery.verify("alice", people("alice")).accepted
    assert gallery.verify("alice", people("alice", 1)[0]).accepted  # one recording, not a list
    rejected = gallery.verify("alice", people("bob"))
    assert not rejected.accepted and rejected.score > rejected.threshold
    assert "alice rejected" in str(rejected)


@pytest.mark.slow
def test_a_person_is_found_and_a_stranger_is_none(gallery, people):
    calibrated(gallery, people)
    identification = gallery.identify(people("carol"), top=2)
    assert identification.person == "carol" and identification.people == 3
    assert [candidate.person for candidate in identification.candidates][0] == "carol" and len(
        identification.candidates
    ) == 2
    assert identification.candidates[0].score <= identification.candidates[1].score
    assert gallery.identify(people("nobody")).person is None


def test_the_score_is_the_mean_over_recordings_of_the_least_distance(gallery, model, people):
    enrolled, observed = people("dora", 5), people("dora", 3)
    gallery.enroll("dora", enrolled)
    between = keras_dml.distance(
        model, keras_dml.embed(model, observed), keras_dml.embed(model, enrolled)
    )
    decision = gallery.verify("dora", observed, threshold=1.0)
    np.testing.assert_allclose(decision.score, between.min(axis=1).mean(), rtol=1e-5)


@pytest.mark.slow
def test_a_threshold_keeps_its_rate_on_the_people_it_was_set_on(gallery, people):
    threshold = calibrated(gallery, people, far=0.05)
    assert gallery.thresholds == {0.05: threshold}
    assert threshold.people == 24 and threshold.trials == 24 * 4 * 23
    low, high = threshold.far_ci95
    assert low <= 0.05 <= high and threshold.tar > 0.9


@pytest.mark.slow
def test_a_threshold_says_what_its_people_support(gallery, people):
    threshold = calibrated(gallery, people, far=0.05)
    fewest, most = threshold.people_needed(0.005)
    assert threshold.strictest <= 0.05 and 24 < fewest < most == 1200
    assert "counted over people: 24 people, 2,208 imposter trials" in str(threshold)
    assert f"FAR 0.5 % would need about {fewest} to {most:,} people" in str(threshold)
    with pytest.raises(ValueError, match=r"FAR 0\.1 % is beyond what these 24 people support"):
        calibrated(gallery, people, far=0.001)
    assert list(gallery.thresholds) == [0.05]


def test_people_needed_counts_independent_pairs():
    """Suppose that each of n people resembles either everybody or nobody. The people then count as
    n / 2 independent pairs.
    """
    scores, sides = claims(np.random.default_rng(0), 4, resemblance=1.0)
    genuine = np.full(4, scores.min() - 1)
    people = [np.append(side, np.arange(4)) for side in sides]
    threshold = calibration.calibrated(np.append(scores, genuine), *people, 0.2, extrapolate=True)
    assert (threshold.independent, threshold.strictest) == (2, 1)
    count = threshold.people_needed(0.05)[1]
    assert count == 120
    for size, is_enough in ((count - 2, False), (count, True)):
        near = np.arange(size) < 3
        scores, differs = np.where(near[:, None] | near, 0.0, 1.0), ~np.eye(size, dtype=bool)
        rates = false_accepts(scores[differs], np.nonzero(differs), 0.5)
        assert rates.independent == size / 2
        assert (rates.strictest <= 0.05) == is_enough


@pytest.mark.slow
def test_an_extrapolated_threshold_states_its_method(gallery, people):
    far = calibrated(gallery, people).strictest / 3
    with pytest.warns(UserWarning, match="too few people for this rate"):
        assert "extrapolated by" in str(calibrated(gallery, people, far, extrapolate=True))


@pytest.mark.slow
def test_decisions_state_their_rate_and_whether_it_is_extrapolated(gallery, people):
    observed = people("alice")
    calibrated(gallery, people, 0.1)
    counted = gallery.verify("alice", observed)
    assert (counted.far, counted.extrapolated) == (0.1, False)
    assert f"threshold {counted.threshold:.4g} for FAR 10 %" in str(counted)
    custom = gallery.verify("alice", observed, threshold=1e3)
    assert custom.far is None and str(custom).endswith("threshold 1000")
    far = gallery.thresholds[0.1].strictest / 3
    with pytest.warns(UserWarning, match=r"decisions use the threshold.* `remove_threshold`"):
        threshold = calibrated(gallery, people, far, extrapolate=True)
    for answer in (gallery.verify("alice", observed), gallery.identify(observed)):
        assert (answer.far, answer.extrapolated) == (threshold.far, True)
        assert f"for FAR {100 * far:g} %, extrapolated: only an estimate" in str(answer)
    assert not gallery.identify(observed, far=0.1).extrapolated
    assert gallery.identify(observed, threshold=1.0).far is None


@pytest.mark.slow
def test_a_threshold_is_removed(gallery, model, people, place):
    calibrated(gallery, people, 0.05)
    calibrated(gallery, people, 0.1)
    for wrong in (0.2, "0.05", None, float("nan")):
        with pytest.raises(ValueError, match=r"calibrated: 0\.05, 0\.1\."):
            gallery.remove_threshold(wrong)
    gallery.remove_threshold(0.05)
    assert list(gallery.thresholds) == [0.1] and gallery.verify("alice", people("alice")).far == 0.1
    gallery.remove_threshold(0.1)
    with Gallery(model=model, **place) as again:
        assert again.thresholds == {}
    with pytest.raises(ValueError, match="calibrated: there is none"):
        gallery.remove_threshold(0.1)


@pytest.mark.slow
def test_a_session_is_compared_with_other_sessions(gallery, people):
    """The recordings of a session are similar, and the sessions of a person differ strongly."""
    names = np.repeat([f"volunteer {i}" for i in range(24)], 4)
    sessions = ["monday", "monday", "tuesday", "tuesday"] * 24
    recordings = [
        people(f"{name} {session}", 1)[0] for name, session in zip(names, sessions, strict=True)
    ]
    blind = gallery.calibrate(recordings, names, 0.05)
    with pytest.warns(UserWarning, match="FAR 5 % accepts 0 % .* `far`"):
        by_session = gallery.calibrate(recordings, names, 0.05, sessions=sessions)
    assert blind.tar == 1 and by_session.tar < 0.3
    assert (by_session.value, by_session.far_ci95) == (blind.value, blind.far_ci95)
    one_day = gallery.calibrate(recordings, names, 0.05, sessions=[None] * 96)
    assert one_day == blind
    with pytest.raises(ValueError, match="`sessions` has length 1, .* each of the 96 recordings"):
        gallery.calibrate(recordings, names, 0.05, sessions=["monday"])


@pytest.mark.slow
def test_repeated_recordings_give_a_warning(gallery, people):
    names = [f"volunteer {i}" for i in range(24)]
    recordings = [recording for name in names for recording in people(name)]
    recordings[1] = recordings[0].copy()
    people_of, sessions = np.repeat(names, 4), 24 * ["monday", "monday", "tuesday", "tuesday"]
    once = gallery.calibrate(
        [*recordings[:1], *recordings[2:]],
        np.delete(people_of, 1),
        0.05,
        sessions=[*sessions[:1], *sessions[2:]],
    )
    for copy in (recordings[0].copy(), np.round(recordings[0], 6)):
        recordings[1] = copy
        with pytest.warns(
            UserWarning, match="1 of these 96 .* of 'volunteer 0' that equals a recording of 'vol"
        ):
            threshold = gallery.calibrate(recordings, people_of, 0.05, sessions=sessions)
        assert threshold == once
    recordings[1], recordings[95] = people("volunteer 0", 1)[0], recordings[0].copy()
    with pytest.warns(UserWarning, match="1 recordings of two people are left out"):
        threshold = gallery.calibrate(recordings, people_of, 0.05)
    assert threshold.trials == 94 * 23


@pytest.mark.slow
def test_more_recordings_than_in_calibration_give_a_warning(gallery, people, recwarn):
    assert calibrated(gallery, people).enrolled == 4
    gallery.enroll("dora", people("dora", 6))
    assert not [
        recording for recording in recwarn if "the nearest of them is" in str(recording.message)
    ]
    with pytest.warns(UserWarning, match="8 recordings of 'dora' .* with 4 .* 2 times"):
        gallery.enroll("dora", people("dora", 2))
    names = [f"volunteer {i}" for i in range(24)]
    recordings = [recording for name in names for recording in people(name, 2)]
    with pytest.warns(UserWarning, match="8 recordings of 'dora' .* with 2 .* 4 times"):
        gallery.calibrate(recordings, np.repeat(names, 2), 0.05)


def test_fewer_recordings_than_in_calibration_give_a_warning(gallery, people, recwarn):
    gallery.enroll("dora", people("dora", 3))
    assert calibrated(gallery, people).enrolled == 4
    assert not [item for item in recwarn if "so few recordings" in str(item.message)]
    gallery.enroll("emil", people("emil", 2))
    with pytest.warns(UserWarning, match="2 recordings of 'emil' .* with 4 .* 1 of 5 people"):
        calibrated(gallery, people)


@pytest.mark.slow
def test_the_rate_within_each_group_is_measured_and_stored(gallery, model, people, place):
    """People of a group resemble each other, so the rate in a group exceeds the overall rate."""
    level = people.level("volunteer 0")
    for i in range(1, 8):
        people.is_like(f"volunteer {i}", level)
    groups = {f"volunteer {i}": "twins" if i < 8 else "others" for i in range(23)}
    threshold = calibrated(gallery, people, far=0.2, groups=groups)
    rest, twins = threshold.groups
    assert (twins.group, twins.people, rest.people) == ("twins", 8, 15)
    assert rest.low < rest.far < rest.high < twins.far == twins.high == 1
    assert str(threshold).splitlines()[1:] == [str(rest), str(twins)]
    with Gallery(model=model, **place) as again:
        assert again.thresholds == {0.2: threshold}


@pytest.mark.slow
def test_a_group_of_one_person_has_no_rate_and_gives_a_warning(gallery, people):
    groups = {f"volunteer {i}": "many" for i in range(23)} | {"volunteer 23": "one"}
    with pytest.warns(UserWarning, match="1 of these 2 groups .* such as 'one'"):
        threshold = calibrated(gallery, people, far=0.2, groups=groups)
    assert [group.group for group in threshold.groups] == ["many"]


@pytest.mark.slow
def test_groups_without_any_of_the_people_are_refused(gallery, people):
    with pytest.raises(ValueError, match="none of the 24 people"):
        calibrated(gallery, people, groups={"somebody else": "children"})


@pytest.mark.slow
def test_enrolled_people_are_there_after_reopening(gallery, model, people, place):
    threshold = calibrated(gallery, people)
    with Gallery(model=model, **place) as again:
        assert again.people() == {"alice": 4, "bob": 4, "carol": 4}
        assert list(again.thresholds.values()) == [threshold]
        assert again.identify(people("bob")).person == "bob"


@pytest.mark.slow
def test_people_enrolled_by_another_process_are_seen(gallery, model, people, place):
    with Gallery(model=model, **place) as second:
        second.identify(people("alice"), threshold=1e9)
        gallery.enroll("dora", people("dora"))
        assert second.identify(people("dora"), threshold=1e9).person == "dora"
        gallery.remove("dora")
        assert second.identify(people("dora"), threshold=1e9).person != "dora"


def test_invalid_recordings_are_refused_with_reasons(gallery, people):
    bad = [np.zeros((5, CHANNELS + 1)), people("dora", 1)[0], np.full((5, CHANNELS), np.nan)]
    result = gallery.enroll("dora", bad)
    assert result.kept == (1,) and result.enrolled == 1
    assert "Recording 0 has 4 channels" in result.refused[0]
    assert "Recording 2 holds NaN" in result.refused[2]
    none = gallery.enroll("emil", bad[:1])
    assert none.kept == () and none.enrolled == 0 and "emil" not in gallery.people()


def test_a_recording_of_somebody_else_is_not_enrolled_once_thresholds_are_set(gallery, people):
    calibrated(gallery, people)
    mixed = [*people("alice", 2), *people("bob", 1)]
    result = gallery.enroll("alice", mixed)
    assert result.kept == (0, 1) and result.enrolled == 6
    assert "the threshold (" in result.refused[2]


def test_several_recordings_of_somebody_else_do_not_vouch_for_each_other(gallery, people):
    calibrated(gallery, people)
    result = gallery.enroll("alice", [*people("bob", 2), *people("alice", 1)])
    assert result.kept == (2,) and "the threshold (" in result.refused[1]
    of_new = gallery.enroll("dora", [*people("bob", 2), *people("dora", 3)])
    assert of_new.kept == (2, 3, 4) and sorted(of_new.refused) == [0, 1]
    alone = gallery.enroll("emil", [*people("bob", 1), *people("emil", 1)])
    assert alone.kept == () and sorted(alone.refused) == [0, 1]


@pytest.mark.parametrize(
    ("enrolled", "belonging"), [(0, [0, 1, 2]), (1, [3, 4]), (2, [0, 1, 2, 3, 4])]
)
def test_near_recordings_link_distant_ones(enrolled, belonging):
    points, stored = np.array([0.0, 1, 2, 9, 10]), np.array([10.5, 0.5][:enrolled])
    distances = np.abs(points[:, None] - np.concatenate([stored, points]))
    distances[:, enrolled:][np.eye(5, dtype=bool)] = np.inf
    far = enrollment.outliers(distances, enrolled, 1.0)
    assert sorted(far) == sorted({*range(5)} - {*belonging})
    assert all(distance > 1 for distance in far.values())


def test_the_first_enrollment_needs_two_near_recordings():
    distances = np.array([[np.inf, 0.5, 9], [0.5, np.inf, 9], [9, 9, np.inf]])
    assert sorted(enrollment.outliers(distances, 0, 1.0)) == [2]
    assert sorted(enrollment.outliers(10 * distances, 0, 1.0)) == [0, 1, 2]


def test_rejected_recordings_are_no_longer_accepted(gallery, people):
    twin = people("alice", 3)
    assert gallery.verify("alice", twin[:1], threshold=1e9).accepted
    gallery.reject("alice", twin[:1])
    denied = gallery.verify("alice", twin[:1], threshold=1e9)
    assert not denied.accepted and denied.denied and "imposter" in str(denied)
    assert gallery.identify(twin[:1], threshold=1e9).person != "alice"
    assert gallery.people()["alice"] == 4
    for name in ("bob", "carol"):
        gallery.remove(name)
    assert gallery.identify(twin[:1], threshold=np.inf).person is None  # excluded by `reject`


@pytest.mark.slow
def test_rates_of_identification_grow_with_the_people(gallery, people):
    threshold = calibrated(gallery, people)
    identification = gallery.identify(people("carol"))
    assert identification.fpir == pytest.approx(3 * threshold.far)
    assert f"FPIR at most {300 * threshold.far:g} % among 3 people" in str(identification)
    assert threshold.among(10_000) == 1 and threshold.among(1) == threshold.far
    assert "FNIR" not in str(identification)  # a bound of 1 is not stated
    custom = gallery.identify(people("carol"), threshold=1.0)
    assert custom.fpir is None and "FPIR" not in str(custom)


@pytest.mark.parametrize("place", FILES, indirect=True)
def test_a_removed_person_leaves_no_byte(gallery, model, people, place):
    import keras_dml

    secret = people("mallory", 3)
    gallery.enroll("mallory", secret)
    z = keras_dml.embed(model, secret)[:, :CHANNELS]  # the last row is equal for all people
    embeddings = [embedding.tobytes() for embedding in z.astype("<f4")]
    is_plain = "key" not in place
    assert any(_found(gallery.path, embedding) for embedding in embeddings) == is_plain
    gallery.remove("mallory")
    assert "mallory" not in gallery.people()
    for embedding in embeddings:
        for start in range(0, len(embedding) - 16, 16):
            assert not _found(gallery.path, embedding[start : start + 16])
    assert not _found(gallery.path, b"mallory")


def _found(path, pattern):
    files = pathlib.Path(path).parent.glob(f"{pathlib.Path(path).name}*")
    return any(pattern in file.read_bytes() for file in files)


@pytest.mark.slow
def test_merging_two_galleries_adds_nothing_twice(gallery, model, people, tmp_path):
    with Gallery(tmp_path / "other.db", model) as second:
        second.enroll("alice", people("alice", 2))
        second.enroll("dora", people("dora", 3))
        second.reject("dora", people("bob", 1))
        assert gallery.merge(second) == {"alice": 2, "dora": 4}
        assert gallery.merge(second) == {}
        assert second.people() == {"alice": 2, "dora": 3}
    assert gallery.people() == {"alice": 6, "bob": 4, "carol": 4, "dora": 3}
    assert gallery.identify(people("dora"), threshold=1e9).person == "dora"


@pytest.mark.slow
def test_exported_templates_make_the_same_gallery(gallery, model, people, tmp_path):
    gallery.reject("alice", people("bob", 1))
    path = tmp_path / "family.npz"
    gallery.export_templates(path)
    with Gallery(tmp_path / "other.db", model) as second:
        assert second.merge(path) == {"alice": 5, "bob": 4, "carol": 4}
        assert second.merge(str(path)) == {} and second.people() == gallery.people()
        probe = people("carol")
        answer, expected = (each.identify(probe, threshold=1.0) for each in (second, gallery))
        assert answer == expected


@pytest.mark.parametrize(
    ("about", "person", "shape", "message"),
    [
        ({"fingerprint": "other"}, "zoe", None, "Enroll the recordings again"),
        ({}, "a\nb", None, "must be a name"),
        ({}, "zoe", (5,), "embeddings of another size"),
        ({}, "zoe", (CHANNELS + 1, 8), "holds no quantile embedding"),
    ],
)
@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_a_stranger_s_templates_are_refused(gallery, tmp_path, about, person, shape, message):
    path, z = tmp_path / "strange.npz", gallery._templates().enrolled_of("bob")[:1]
    if shape is not None:
        z = np.zeros((1, *shape), "float32")
    template_files.write(path, gallery._about | about, [person], [True], z)
    before = gallery.people()
    with pytest.raises(ValueError, match=message):
        gallery.merge(path)
    assert gallery.people() == before


def test_templates_are_not_exported_over_their_gallery(model, people, tmp_path):
    with Gallery(tmp_path / "family.db", model) as opened:
        opened.enroll("alice", people("alice"))
        (tmp_path / "link").symlink_to(tmp_path / "family.db")
        for path in (opened.path, tmp_path / "link"):
            with pytest.raises(ValueError, match="is the gallery itself"):
                opened.export_templates(path)
        assert opened.people() == {"alice": 4}


def test_galleries_of_two_models_are_not_merged(gallery, tmp_path):
    signal = keras.Input((None, CHANNELS))
    larger = keras.Model(signal, QuantileLayer(9)(signal), name="other")
    with Gallery(tmp_path / "other.db", larger) as opened:
        with pytest.raises(ValueError, match="Enroll the recordings again"):
            gallery.merge(opened)


@pytest.mark.slow
def test_later_recordings_are_measured_against_everybody(gallery, people):
    names = ["alice", "bob", "nobody"]
    figures = gallery.evaluate(
        [recording for name in names for recording in people(name, 2)], np.repeat(names, 2)
    )
    assert figures.eer == 0 and figures.trials.genuine == 4 and figures.trials.imposter == 14
    assert figures.intervals["eer"][0] == 0


@pytest.mark.slow
def test_rejected_recordings_count_in_evaluate_as_in_verify(gallery, people):
    twin = people("alice", 2)
    rates = [gallery.evaluate([*twin, *people("bob", 2)], ["alice"] * 2 + ["bob"] * 2).eer]
    gallery.reject("alice", twin)
    assert not gallery.verify("alice", twin[:1], threshold=1e9).accepted
    rates.append(gallery.evaluate([*twin, *people("bob", 2)], ["alice"] * 2 + ["bob"] * 2).eer)
    assert rates[0] == 0 and rates[1] > 0.2


@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_people_without_recordings_and_strange_names_in_a_file_do_no_harm(gallery, people):
    connection = sqlite3.connect(gallery.path)
    connection.execute("INSERT INTO people (name) VALUES ('none'), ('a' || char(10) || 'b')")
    connection.commit()
    connection.close()
    assert gallery.people()["none"] == 0
    identification = gallery.identify(people("alice"), threshold=1e9)
    assert identification.person == "alice" and identification.people == 3
    with pytest.raises(KeyError, match="Nobody named 'none'"):
        gallery.verify("none", people("alice"), threshold=1e9)
    for name in gallery.people():
        gallery.remove(name)
    with pytest.raises(ValueError, match="Nobody is enrolled"):
        gallery.identify(people("alice"), threshold=1e9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201, "\x00", "dora ", "\u00a0dora"])
def test_invalid_names_are_refused(gallery, people, name):
    with pytest.raises(ValueError, match=r"`person` is .* must (be a|not begin)"):
        gallery.enroll(name, people("dora"))


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (None, ValueError, "needs a model"),
        ("vowels", ValueError, "Did you mean 'vowels_qp_wl'"),
        (3, TypeError, "int"),
    ],
)
def test_a_new_gallery_without_its_model_leaves_no_file(tmp_path, model, error, message):
    with pytest.raises(error, match=message):
        Gallery(tmp_path / "new.db", model)
    assert not any(tmp_path.iterdir())


def test_a_gallery_finds_its_model_from_any_folder(tmp_path, model, people, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    model.save("channels.keras")
    for number, name in enumerate(("channels.keras", pathlib.Path("channels.keras"))):
        with Gallery(f"{number}.db", name) as gallery:
            gallery.enroll("ann", people("ann"))
        monkeypatch.chdir(tmp_path / "elsewhere")
        with Gallery(tmp_path / f"{number}.db") as gallery:
            assert gallery.identify(people("ann"), threshold=1e3).person == "ann"
        monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("as_text", [str, pathlib.Path])
def test_a_model_path_is_the_same_model_from_every_folder(tmp_path, model, people, as_text):
    path = as_text(tmp_path / "channels.keras")
    model.save(path)
    recordings = people("ann")
    z = keras_dml.embed(path, recordings)
    np.testing.assert_array_equal(z, keras_dml.embed(model, recordings))
    distances = keras_dml.distance(path, z, z)
    np.testing.assert_array_equal(distances, keras_dml.distance(model, z, z))
    assert keras_dml.explain(path, *people("ann", 2)).distance > 0


@pytest.mark.parametrize("path", [None, 5, b"people.db"])
def test_an_invalid_path_is_refused(model, path):
    """None is tested because `os.environ.get` returns None for a missing variable."""
    with pytest.raises(TypeError, match="`path` is .*the path of a gallery's file, or the URL"):
        Gallery(path, model)


def test_a_folder_is_no_gallery(tmp_path, model):
    for ask in (lambda path: Gallery(path, model), galleries.people):
        with pytest.raises(ValueError, match="is a folder. Name a file in it"):
            ask(tmp_path)


def test_a_url_of_an_unknown_scheme_is_refused(tmp_path, model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="begins with postgresql.psycopg://") as error:
        Gallery("postgresql+psycopg://me:secret@host/db", model)
    assert "secret" not in str(error.value) and not any(tmp_path.iterdir())


def test_a_closed_gallery_gives_a_clear_error(gallery):
    gallery.close()
    with pytest.raises(ValueError, match="is closed. Open it again"):
        gallery.people()


@pytest.mark.parametrize("threshold", [float("nan"), "low"])
def test_invalid_thresholds_are_refused(gallery, people, threshold):
    with pytest.raises(ValueError, match="`threshold` is .* must be a number"):
        gallery.verify("alice", people("alice"), threshold=threshold)


def test_top_must_be_at_least_1(gallery, people):
    with pytest.raises(ValueError, match="`top` must be at least 1"):
        gallery.identify(people("alice"), 0, threshold=1.0)


def test_merge_refuses_other_types(gallery):
    with pytest.raises(TypeError, match="`other` is .* must be a Gallery, or the path of exported"):
        gallery.merge(3)


@pytest.mark.slow
@pytest.mark.parametrize("names", ["aaaa", "abcd"])
def test_calibration_needs_genuine_and_false_claims(gallery, people, names):
    with pytest.raises(ValueError, match="several recordings of each of at least two people"):
        gallery.calibrate(people("x"), list(names))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ([None] * 4, TypeError, "holds NoneType, .* not both"),
        (["1", 1, 2, 2], TypeError, "holds number, str, .* not both"),
        (["a"], ValueError, "has shape .* person of each of the 4 recordings"),
    ],
)
def test_invalid_people_are_refused(gallery, people, names, error, message):
    with pytest.raises(error, match=f"`people` {message}"):
        gallery.calibrate(people("x"), names)


@pytest.mark.parametrize("recordings", [None, 3])
def test_invalid_recordings_arguments_are_refused(gallery, recordings):
    for ask in (gallery.reject, gallery.enroll):
        with pytest.raises(
            TypeError, match="`recordings` is .* must be an array, or a list of arrays"
        ):
            ask("alice", recordings)


def test_an_invalid_name_is_not_reported_as_a_closed_gallery(gallery):
    with pytest.raises((KeyError, OSError, ValueError)) as error:
        gallery.remove(["alice"])
    assert "closed" not in str(error.value) and "alice" in gallery.people()


def test_groups_must_be_a_mapping(gallery, people):
    with pytest.raises(TypeError, match="`groups` is of type"):
        calibrated(gallery, people, groups="women")


def test_another_model_is_refused(gallery, place):
    signal = keras.Input((None, CHANNELS))
    larger = keras.Model(signal, QuantileLayer(9)(signal), name="other")
    with pytest.raises(ValueError, match="Embeddings of two models cannot be compared"):
        Gallery(model=larger, **place)


def of_layers(*layers):
    model = keras.Sequential([keras.Input((None, CHANNELS)), *layers])
    return keras_model.KerasModel(model).fingerprint


def test_the_order_of_a_distance_tells_models_of_the_same_weights_apart():
    assert of_layers(QuantileLayer(6, p=1)) != of_layers(QuantileLayer(6, p=2))


def test_models_without_weights_are_told_apart_by_what_they_compute_and_take():
    def log_euclidean(pooled=2, channels="xyz"):
        contract = InputContract(list(channels), "g", 50, stddev_range=[(1, 2)] * CHANNELS)
        return of_layers(contract, MaskedAveragePooling1D(pooled), Covariance())

    assert log_euclidean() == log_euclidean()
    assert len({log_euclidean(), log_euclidean(pooled=4), log_euclidean(channels="abc")}) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [b"alice", None, 1, ["alice"]])
def test_a_name_that_is_not_text_is_unknown(gallery, people, name):
    with pytest.raises(KeyError, match="Nobody named .* is enrolled in"):
        gallery.verify(name, people("alice"), threshold=1e9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["verify", "reject"])
def test_an_unknown_person_is_an_error(gallery, people, method):
    calibrated(gallery, people)
    with pytest.raises(KeyError, match="Nobody named 'zoe'"):
        getattr(gallery, method)("zoe", people("alice"))


@pytest.mark.slow
def test_without_a_threshold_nothing_is_decided(gallery, people):
    with pytest.raises(ValueError, match="Use `calibrate`"):
        gallery.verify("alice", people("alice"))
    calibrated(gallery, people, far=0.05)
    with pytest.raises(ValueError, match="must be a rate that was calibrated: 0.05"):
        gallery.verify("alice", people("alice"), far=0.01)


def test_claims_that_cannot_support_a_rate_are_refused(gallery, people):
    with pytest.raises(ValueError, match="imposter"):
        gallery.calibrate(people("x") + people("y"), ["x"] * 4 + ["y"] * 4, far=0.001)


def test_a_classifier_compares_by_its_learned_similarity(rng, tmp_path):
    inputs = keras.Input((4, 4, 1))
    encoder = keras.Model(inputs, keras.layers.Flatten()(inputs))
    classifier = PrototypicalClassifier(encoder, 2, hidden=(4,), class_names=["a", "b"])
    images = rng.random((6, 4, 4, 1)).astype("float32")
    with Gallery(tmp_path / "things.db", classifier) as gallery:
        gallery.enroll("cup", list(images[:2]))
        gallery.enroll("pot", images[2])
        identification = gallery.identify(images[0], threshold=1e9)
        z = classifier.embed(images[:3])
        similar = np.asarray(classifier.similarity(z[:1], z))[0]
        expected = {"cup": -similar[:2].max(), "pot": -similar[2]}
        assert {
            candidate.person: candidate.score for candidate in identification.candidates
        } == pytest.approx(expected, rel=1e-4)
        classifier.add_classes(["c"], images[4:5], [0])
    with Gallery(
        tmp_path / "things.db", classifier
    ) as again:  # new classes do not change the fingerprint
        assert again.people() == {"cup": 2, "pot": 1}


@pytest.mark.slow
def test_names_are_compared_in_composed_unicode(gallery, model, people, tmp_path):
    typed, of_macos = (unicodedata.normalize(form, "Zoë Łuç") for form in ("NFC", "NFD"))
    assert typed != of_macos
    gallery.enroll(of_macos, people(typed))
    assert gallery.enroll(typed, people(typed, 1)).enrolled == 5
    assert typed in gallery.people() and of_macos not in gallery.people()
    decision = gallery.verify(of_macos, people(typed, 1), threshold=1e9)
    assert decision.accepted and decision.person == typed
    assert gallery.recordings(of_macos) == gallery.recordings(typed)
    gallery.reject(of_macos, people("alice", 1))
    with Gallery(tmp_path / "other.db", model) as second:
        second.enroll(of_macos, people(typed, 1))
        assert gallery.merge(second) == {typed: 1}
    gallery.remove(of_macos)
    assert typed not in gallery.people()


@pytest.mark.slow
def test_people_of_recordings_are_compared_in_composed_unicode(gallery, people):
    of_macos = unicodedata.normalize("NFD", "Zoë")
    gallery.enroll("Zoë", people("Zoë"))
    figures = gallery.evaluate([*people("Zoë"), *people("bob")], [of_macos] * 4 + ["bob"] * 4)
    assert figures.trials.genuine == 8


@pytest.mark.slow
def test_a_score_equal_to_the_threshold_is_accepted_and_the_next_one_is_not(gallery, people):
    observed = people("bob", 2)
    nearest = gallery.identify(observed, threshold=0.0).candidates[0]
    score = gallery.verify("bob", observed, threshold=0.0).score
    assert nearest.person == "bob" and nearest.score == score > 0
    below = np.nextafter(score, 0)
    assert gallery.identify(observed, threshold=score).person == "bob"
    assert gallery.identify(observed, threshold=below).person is None
    assert gallery.verify("bob", observed, threshold=score).accepted
    assert not gallery.verify("bob", observed, threshold=below).accepted


def test_denied_claims_have_the_largest_scores_in_evaluate(gallery, people):
    """If `reject` excludes one of two genuine claims, this claim ranks after all false claims."""
    twin, probe = people("alice", 1), people("alice", 1)
    before = gallery.evaluate([*twin, *probe], ["alice"] * 2)
    gallery.reject("alice", twin)
    after = gallery.evaluate([*twin, *probe], ["alice"] * 2)
    assert before.auc == 1 and after.auc == 0.5
    assert (after.trials.genuine, after.trials.imposter) == (2, 4)


def test_marked_recordings_do_not_count_as_enrolled(gallery, people):
    gallery.reject("alice", people("alice", 2))
    assert gallery.enroll("alice", people("alice", 3)).enrolled == 7
    assert gallery.people()["alice"] == 7


def test_figures_of_a_threshold_are_printed_in_percent():
    threshold = Threshold(
        0.05, 3.25, (0.012, 0.097), 0.875, (0.8, 0.9), 24, 2208, 100.0, 0.02, "counted over people"
    )
    figures = re.findall(r"\d[\d.,]*(?= |,|$)", str(threshold))
    assert figures[:9] == ["3.25", "5", "95", "1.2", "9.7", "24", "2,208", "87.5", "0.5"]
    figures = re.findall(r"\d[\d.]*", str(GroupRate("old", 0.0123, 0.004, 0.031, 7)))
    assert figures == ["1.23", "0.4", "3.1", "7"]
    assert threshold.among(3) == pytest.approx(0.15)
    assert not threshold.extrapolated
    assert dataclasses.replace(threshold, strictest=0.06).extrapolated


@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_calibrating_with_training_people_gives_a_warning(gallery, people, monkeypatch):
    card = {"is_own": True, "data": {"train_subjects": ["volunteer 3", "somebody else"]}}
    monkeypatch.setattr(keras_model.reading, "card_of", lambda model: card)
    with pytest.warns(UserWarning, match="with 1 of these 24 people, such as 'volunteer 3'"):
        calibrated(gallery, people)
    card["is_own"] = False  # zoo models were trained with numbered people
    calibrated(gallery, people)


@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_errors_name_the_first_unfit_recording_and_count_the_others(gallery, people, monkeypatch):
    unfit = {1: "it is flat"}
    monkeypatch.setattr(gallery._model, "unfit", lambda recordings: unfit)
    with pytest.raises(ValueError, match="Recording 1 .* it is flat") as caught:
        gallery.verify("alice", people("alice", 3), threshold=1.0)
    assert "`unfit`" not in str(caught.value)
    unfit[2] = "it is clipped"
    with pytest.raises(ValueError, match="Recording 1 .* it is flat.* `unfit` .* 2 "):
        gallery.verify("alice", people("alice", 3), threshold=1.0)


def test_rates_of_an_identification_are_printed_in_percent():
    identification = Identification("ann", (Candidate("ann", 1.25),), 3.5, 4, 0.2, 0.05)
    assert re.findall(r"\d[\d.]*", identification.rates) == ["20", "4"]
    assert re.findall(r"\d[\d.]*", str(identification)) == ["1.25", "3.5", "5", "20", "4"]


@pytest.mark.parametrize("place", FILES[:1], indirect=True)
def test_unfit_recordings_are_neither_compared_nor_enrolled(gallery, people, monkeypatch):
    class Gate:
        def refused(self, recordings):
            return {
                i: "it is flat" for i, recording in enumerate(recordings) if np.ptp(recording) == 0
            }

    monkeypatch.setattr(gallery._model, "_gate", Gate())
    flat = np.ones_like(people("alice", 1)[0])
    mixed = [flat, *people("alice", 2), flat]
    assert gallery.unfit(mixed) == {0: "it is flat", 3: "it is flat"}
    with pytest.raises(ValueError, match="Recording 0 .* it is flat"):
        gallery.verify("alice", mixed, threshold=1.0)
    enrollment = gallery.enroll("alice", mixed)
    assert enrollment.kept == (1, 2) and sorted(enrollment.refused) == [0, 3]
    assert gallery.unfit(people("alice", 2)) == {}
