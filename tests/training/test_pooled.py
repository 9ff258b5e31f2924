"""Tests that the main result, baselines and thresholds are computed from pooled trials."""

import numpy as np
import pytest

from keras_dml.evaluation import best_of_tries, certificate, false_accepts, verification
from keras_dml.training import pooled, trials
from keras_dml.zoo import catalog

NAMES = ("probes", "claims", "recordings", "enrolled")


@pytest.fixture
def claims(rng):
    """Returns trials of twelve people with two probes and three enrolled recordings each."""
    names = np.array(list("abcdefghijkl"))
    probes, gallery = np.repeat(names, 2), np.repeat(names, 3)
    distances = rng.normal(size=(24, 36)) + 2 * (probes[:, None] != gallery)
    return trials.against_gallery(distances, probes, gallery)


def test_a_headline_has_its_counts_and_intervals_over_people(claims):
    found = pooled.headline(claims)
    counts = {key: found[key] for key in ("people", "gallery", "probes", "enrolled")}
    assert counts == {"people": 12, "gallery": 12, "probes": 24, "enrolled": 3}
    expected = verification(claims.scores, claims.genuine, people=claims.people, bootstrap=1000)
    rows = {row["metric"]: row for row in found["rows"]}
    assert list(rows) == ["auc", "eer", "tar_at_far_0.01"]  # 264 imposter trials: no FAR of 0.1 %
    assert rows["eer"]["value"] == expected.eer
    assert rows["eer"]["ci95"] == list(expected.intervals["eer"])


def test_intervals_over_motions_name_them_and_leave_the_number_of_people_open(claims):
    found = pooled.headline(
        trials.against_gallery(1 - np.eye(3), list("xyz"), list("xyz"), "motions")
    )
    assert found["motions"] == 3 and found["unit"] == "motions" and "people" not in found


def test_without_any_error_the_bound_is_that_of_clopper_and_pearson(claims):
    perfect = claims.with_scores(np.where(claims.genuine, 0.0, 1.0))
    rows = {row["metric"]: row for row in pooled.headline(perfect)["rows"]}
    bound = 1 - 0.025 ** (1 / 12)
    assert rows["eer"]["value"] == 0
    assert rows["eer"]["ci95"] == pytest.approx([0.0, bound], abs=0.03)
    assert rows["tar_at_far_0.01"]["ci95"] == pytest.approx([1 - bound, 1.0], abs=0.03)
    entry = pooled.baseline(perfect, "same", "the same", pooled.NO_NETWORK, perfect.scores)
    assert entry["difference"] == {"metric": "eer", "value": 0.0, "ci95": [-3 / 12, 3 / 12]}


def test_a_baseline_is_measured_on_the_same_trials_and_paired(claims, rng):
    noise = claims.with_scores(rng.normal(size=claims.scores.size))
    entry = pooled.baseline(claims, "noise", "random numbers", pooled.NO_NETWORK, noise.scores)
    assert entry["rows"] == pooled.rows(noise)
    assert entry["difference"]["ci95"][1] < 0  # the model is significantly better
    value = pooled.rows(claims)[1]["value"] - entry["rows"][1]["value"]
    assert entry["difference"]["value"] == pytest.approx(value)


def test_a_threshold_has_both_rates_with_intervals_and_what_was_enrolled(claims):
    rows = pooled.thresholds(claims)  # 264 imposter trials are too few for a FAR of 0.1 %
    assert [row["far"] for row in rows] == [0.1, 0.05, 0.01]
    row = rows[-1]
    accepted = claims.scores <= row["value"]
    assert accepted[~claims.genuine].mean() <= row["far"] == 0.01
    assert row["tar"] == accepted[claims.genuine].mean()
    assert row["tar_ci95"][0] < row["tar"] < row["tar_ci95"][1]
    assert (row["people"], row["enrolled"], row["trials"]) == (12, 3, 264)
    assert row["score"] == "smallest distance to the enrolled recordings"


def test_a_threshold_is_certified_by_its_people(claims):
    *_, row = pooled.thresholds(claims)
    found, false = row["certificate"], ~claims.genuine
    expected = false_accepts(
        claims.scores[false], [side[false] for side in claims.people], row["value"]
    )
    assert found["ci95"] == list(expected.ci95)
    assert found["ci95"][0] < (claims.scores[false] <= row["value"]).mean() < found["ci95"][1]
    assert 6 <= found["independent"] <= 66  # twelve people form 66 pairs
    assert found["strictest"] == expected.strictest > 0.01
    assert found["people_needed"]["0.01"] == list(expected.people_needed(0.01))
    assert "far_ci95" not in row and catalog.far_interval(row) == found["ci95"]
    assert found["people_needed"]["0.001"][1] == 6000
    assert found["people_needed"]["0.001"][0] > found["people_needed"]["0.01"][0] > 12


def test_three_tries_are_measured_where_somebody_has_as_many_probes(rng, claims):
    assert all("best_of_tries" not in row for row in pooled.thresholds(claims))  # only two probes
    names = np.array(list("abcdefghijkl"))
    probes, gallery = np.repeat(names, 4), np.repeat(names, 3)
    distances = rng.normal(size=(48, 36)) + 2 * (probes[:, None] != gallery)
    found = trials.against_gallery(distances, probes, gallery)
    rows = pooled.thresholds(found)
    assert len(rows) > 2
    for row in rows:
        tries, expected = (
            row["best_of_tries"],
            best_of_tries(found.scores, found.genuine, row["value"], people=found.people, tries=3),
        )
        assert (tries["far"], tries["tar"]) == (expected.far, expected.tar)
        assert tries["far_once"] < tries["far"] <= 3 * tries["far_once"]
        assert tries["far_ci95"][0] < tries["far"] < tries["far_ci95"][1]
        assert (tries["tries"], tries["people"], tries["pairs"]) == (3, 12, 132)


def test_a_rate_that_is_supported_has_what_a_tenth_of_it_would_take(rng):
    people = np.arange(40)
    apart = people[:, None] != people
    scores, claims = rng.normal(size=(40, 40))[apart], np.nonzero(apart)
    found = pooled.certificate(certificate(scores, claims, 0.02), 0.02)
    assert found["strictest"] < 0.02 and list(found["people_needed"]) == ["0.002"]


def test_a_confounder_has_the_rate_between_people_of_one_group(claims):
    group = {name: "ab"[name > "f"] for name in "abcdefghijkl"}
    *_, row = pooled.thresholds(claims, {"sensor": group})
    (within,) = row["within"]
    alike = np.array([group[a] == group[b] for a, b in zip(*claims.people, strict=True)])
    chosen = alike & ~claims.genuine
    assert within["trials"] == chosen.sum() == 24 * 5
    assert within["far"] == (claims.scores[chosen] <= row["value"]).mean()
    assert within["confounder"] == "sensor"


def test_people_of_no_group_are_left_out(claims):
    group = {name: None if name > "f" else "a" for name in "abcdefghijkl"}
    *_, row = pooled.thresholds(claims, {"callers": group})
    assert row["within"][0]["trials"] == 12 * 5


def test_groups_have_the_rates_of_their_own_people_at_one_threshold(claims):
    sides = dict(zip("abcdefghijkl", 5 * ["left"] + 6 * ["right"] + [None], strict=True))
    (entry,) = pooled.by_group(claims, {"people with the same side": sides})
    assert entry["attribute"] == "people with the same side" and entry["far"] == 0.01
    threshold = pooled.thresholds(claims)[2]["value"]
    accepted = claims.scores <= threshold
    side = np.array([[sides[name] for name in names] for names in claims.people])
    for row in entry["rows"]:
        inside = (side == row["group"]).all(axis=0)
        assert row["people"] == {"left": 5, "right": 6}[row["group"]]
        assert row["frr"] == pytest.approx(1 - accepted[inside & claims.genuine].mean())
        assert row["far"] == pytest.approx(accepted[inside & ~claims.genuine].mean())
        assert row["trials"] == np.count_nonzero(inside & ~claims.genuine)
        assert row["frr_ci95"][0] <= row["frr"] <= row["frr_ci95"][1]
    first, second = entry["rows"]
    assert first["frr"] >= second["frr"]


def test_a_single_group_and_groups_of_one_person_are_left_out(claims):
    names = list("abcdefghijkl")
    assert pooled.by_group(claims, {"one": dict.fromkeys(names, "all")}) == []
    lonely = dict(zip(names, ["alone"] + 11 * ["together"], strict=True))
    assert pooled.by_group(claims, {"lonely": lonely}) == []


def test_probes_with_more_claims_than_others_are_told(claims):
    assert "gallery_most" not in pooled.headline(claims)
    fewer = trials.Trials(claims.scores[1:], *(getattr(claims, name)[1:] for name in NAMES))
    found = pooled.headline(fewer)
    assert (found["gallery"], found["gallery_most"]) == (11, 12)


def test_carried_thresholds_are_in_the_distances_of_the_published_file(claims):
    rows = pooled.carried_thresholds(claims, 4.0, 1.0, "carried")
    in_file = trials.Trials(4 * claims.scores - 1, *(getattr(claims, name) for name in NAMES))
    expected = pooled.thresholds(in_file)
    assert [row.pop("carried") for row in rows] == 3 * ["carried"]
    for row, other in zip(rows, expected, strict=True):
        assert row.pop("value") == pytest.approx(other.pop("value")) and row == other
    assert pooled.imposter_statistics(claims, 4.0, 1.0) == pytest.approx(
        pooled.imposter_statistics(in_file)
    )
    false = 4 * claims.scores[~claims.genuine] - 1
    assert pooled.imposter_statistics(in_file) == pytest.approx(
        {"mean": false.mean(), "stddev": false.std()}
    )
