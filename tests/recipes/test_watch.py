"""Tests the watch recipe: walks, groups of people, trials, and the choice of settings."""

import json

import numpy as np
import pytest

from keras_dml.training import People
from zoo import phone_baselines, recipe, walk_discriminants, watch, watch_baselines
from zoo.evidence import Trained
from zoo.watch_lda import evidence, train

NAMES = "abcdefghijklmno"
KNOWN, UNSEEN = NAMES[5:], NAMES[:5]


def walk(person, rng, steps=320):
    """Simulates a walk, with a period and amplitudes along x, y and z that depend on the person."""
    traits = np.random.default_rng(person)
    phase = 2 * np.pi * np.arange(steps) / (40 + 2 * person) + rng.uniform(0, 6)
    amplitudes, shifts = traits.uniform(0.5, 4, 3), traits.uniform(0, 6, 3)
    moved = amplitudes * np.sin(phase[:, None] * [1, 1, 2] + shifts)
    return (moved + 0.3 * rng.normal(size=(steps, 3)) + [watch.GRAVITY, 0, 0]).astype(np.float32)


def walkers(names=NAMES, each=7):
    rng = np.random.default_rng(3)
    return People(
        [walk(NAMES.index(name), rng) for name in names for _ in range(each)],
        [name for name in names for _ in range(each)],
        [run for _ in names for run in range(1, each + 1)],
    )


def record(subject, run, device, activity):
    sequence = np.arange(6 * len(activity), dtype=np.float32).reshape(-1, 6)
    return {
        "sequence": sequence,
        "activity": np.array(activity, np.uint8),
        "subject": subject,
        "run": np.int32(run),
        "device": device,
    }


# ---- walks --------------------------------------------------------------------------------------


def test_walks_are_the_walking_of_the_watch(monkeypatch):
    splits = {
        "train": [record(b"s01", 2, b"watch", [0, 2, 3, 2, 4]), record(b"s01", 2, b"phone", [2])],
        "validation": [record(b"s02", 1, b"watch", [2, 2])],
        "test": [],
    }
    monkeypatch.setattr(watch.people, "read", lambda name, split: splits[split])
    found = watch.walks()
    assert (found.subjects, found.sessions) == (["s01", "s02"], [2, 1])
    np.testing.assert_array_equal(found.signals[0], [[6, 7, 8], [18, 19, 20]])
    signals, subjects = watch.examples("test")
    assert subjects == ["s02"] and len(signals) == 1
    phones = watch.walks(device=watch.PHONE, channels=watch.ACCELERATION_AND_RATES)
    assert phones.subjects == ["s01"]
    np.testing.assert_array_equal(phones.signals[0], [[0, 1, 2, 3, 4, 5]])


def test_mirror_images_and_tempos_are_further_people():
    people = walkers("ab", each=1)
    every = watch.variants(people)
    assert len(set(every.subjects)) == len(every.signals) == 2 * 2 * len(watch.TEMPOS)
    assert people.subjects == ["a", "b"], "the walks themselves are not changed"
    row = every.subjects.index("a mirrored")
    np.testing.assert_array_equal(every.signals[row], people.signals[0] * [-1, 1, 1])
    rates = watch.variants(People([np.ones((320, 6))], ["a"], [1])).signals
    assert [-1, 1, 1, 1, -1, -1] in [signal[0].tolist() for signal in rates]
    faster = every.signals[every.subjects.index("b x1.16")]
    assert len(faster) == pytest.approx(320 / 1.16, abs=1)


# ---- trials -------------------------------------------------------------------------------------


def test_later_runs_are_compared_with_the_first_five_and_earlier_ones_with_the_last_five():
    """Tests with a number for each run. The distance of two runs is the difference of their
    numbers.
    """
    people = walkers("ab", each=7)
    times = np.array(people.sessions) + 100.0 * (np.array(people.subjects) == "b")
    found = watch.claims(np.abs(np.subtract.outer(times, times)), people)
    assert len(found.scores) == 2 * 2 * 2 * 2  # directions, people, probes, claims
    genuine = found.scores[found.genuine].reshape(2, 2, 2)
    # Forward trials compare runs 6 and 7 with runs 1 to 5. Backward trials compare runs 1 and 2
    # with runs 3 to 7.
    np.testing.assert_array_equal(genuine[0], [[1, 2], [1, 2]])
    np.testing.assert_array_equal(genuine[1], [[2, 1], [2, 1]])
    assert (found.enrolled == 5).all()
    fewer = watch.claims(np.abs(np.subtract.outer(times, times)), people, enrolled=1)
    assert (fewer.enrolled == 1).all() and len(fewer.scores) == len(found.scores)
    np.testing.assert_array_equal(fewer.scores[fewer.genuine][:2], [5, 6])


def test_a_person_with_six_runs_has_one_probe_in_each_direction():
    people = walkers("a", each=6)
    found = watch.claims(np.zeros((6, 6)), people)
    assert len(found.scores) == 2


def test_groups_share_nobody_and_the_first_is_of_the_unseen():
    groups = watch.groups(list(KNOWN) * 2, list(UNSEEN) * 3)
    assert groups[0] == list(UNSEEN) and sorted(sum(groups, [])) == list(NAMES)
    assert [len(group) for group in groups] == [5, 5, 5]


def test_distances_of_a_group_are_in_units_of_the_others():
    people = walkers()
    groups = watch.groups(list(KNOWN), list(UNSEEN))
    values = watch_baselines.spectra(None)(people.signals)
    plain = watch.Cross([values] * 3, people, groups)
    scaled = watch.Cross([values, 7 * values, 13 * values], people, groups)
    np.testing.assert_allclose(scaled.trials().scores, plain.trials().scores, rtol=1e-9)
    claimed = plain.trials()
    assert len(set(claimed.probes)) == 15 and plain.eer() < 0.3
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    assert all(
        group_of[a] == group_of[b] for a, b in zip(claimed.probes, claimed.claims, strict=True)
    )
    rows = plain.rows()
    assert [row["protocol"] for row in rows] == [
        "1 run enrolled",
        "3 runs enrolled",
        "5 runs enrolled",
    ]
    assert {row["people"] for row in rows} == {15}


@pytest.mark.parametrize("name", evidence.OTHERS)
def test_other_methods_tell_walkers_apart(name, monkeypatch):
    people = walkers(NAMES[:6], each=6)
    monkeypatch.setattr(
        watch_baselines, "_of_phones", lambda: phone_baselines.discriminants_of(people, (1.0,))
    )
    tested = people.select("def")
    claimed = watch.claims(evidence.OTHERS[name][2](people.select("abc"))(tested.signals), tested)
    genuine = claimed.genuine
    assert claimed.scores[genuine].mean() < 0.7 * claimed.scores[~genuine].mean()


# ---- training -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_published_file_is_the_model_of_the_first_group(tmp_path, monkeypatch):
    published, measured_on = [], []

    def choose(walkers, candidates):
        measured_on.append(set(walkers.subjects))
        return next(iter(candidates)), 2.0

    monkeypatch.setattr(
        watch, "walks", lambda splits: walkers(KNOWN if splits == watch.KNOWN else UNSEEN)
    )
    monkeypatch.setattr(walk_discriminants, "choose", choose)
    monkeypatch.setattr(watch, "TEMPOS", (1.0,))
    monkeypatch.setattr(
        recipe.Run, "publish", lambda self, model, *given, **more: published.append((model, more))
    )
    train.main(steps=1, seed=0, resume=False, out=tmp_path, publish_model=True)
    groups = watch.groups(list(KNOWN), list(UNSEEN))
    assert measured_on == [set(NAMES) - set(group) for group in groups]
    model, card = published[0]
    assert card["data"] == {"train_subjects": list(KNOWN), "test_subjects": list(UNSEEN)}
    assert card["folds"][0] is model and len(card["folds"]) == 3
    assert json.loads((tmp_path / "figures.json").read_text())[-1]["protocol"] == "5 runs enrolled"
    monkeypatch.setattr(evidence, "OTHERS", {"spectra": evidence.OTHERS["spectra"]})
    found = evidence.evidence(Trained(model, card["folds"]))
    assert found.measured.headline["people"] == 15 and found.measured.headline["gallery"] == 5
    trials = found.measured.trials
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    assert set(trials.probes) == set(trials.claims) == set(NAMES)
    assert all(
        group_of[probe] == group_of[claim]
        for probe, claim in zip(trials.probes, trials.claims, strict=True)
    ), "a group is measured by the model that has not seen it"
    about = recipe.about_model("watch_lda") | {"data": card["data"]}
    measured = found.card(about)
    assert [one["name"] for one in measured["baselines"]] == ["spectra"]
    rows = measured["thresholds"]
    assert rows and all("cross-validation" in row["carried"] for row in rows)
    assert max(row["value"] for row in rows) < 0, "thresholds are in the distances of the file"
