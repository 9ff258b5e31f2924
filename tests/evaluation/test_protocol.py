"""Tests the evaluation protocols `paper_protocol` and `session_protocol`."""

import json
import time

import numpy as np
import pytest

from keras_dml.evaluation import identification, imposters, protocol, verification
from keras_dml.evaluation.protocol import paper_protocol, session_protocol
from keras_dml.evaluation.splits import Enrollment, random_enrollments, session_enrollments
from tests.evaluation import oracles
from tests.goldens import golden


def recordings(people=12, each=9, seed=0, noise=1.0):
    """Draws distances between points around one center per person, with people and sessions."""
    rng = np.random.default_rng(seed)
    subjects = np.repeat(np.arange(people), each)
    points = 3 * rng.normal(size=(people, 2))[subjects] + noise * rng.normal(
        size=(people * each, 2)
    )
    distances = np.linalg.norm(points[:, None] - points, axis=-1)
    return distances, subjects, np.tile(np.arange(each) >= each - 5, people)


def value(records, **which):
    found = [r for r in records if all(r[key] == wanted for key, wanted in which.items())]
    assert len(found) == 1
    return found[0]["value"]


@pytest.fixture(scope="module")
def toy():
    """Returns the worked example, its distance matrix, and the draw of recordings."""
    example = golden("protocol_toy")
    observed = np.array(example["inputs"]["observed"])
    enrolled = np.array(example["inputs"]["enrolled"])
    values = np.concatenate([observed.ravel(), enrolled.ravel()]).astype(float)
    rows = np.arange(values.size)
    draw = Enrollment(
        people=np.arange(6),
        enrolled=tuple(rows[observed.size :].reshape(enrolled.shape)),
        observed=rows[: observed.size].reshape(observed.shape),
        left_out=(),
    )
    return example, np.abs(values[:, None] - values), draw


def test_golden_scores(toy):
    example, distances, draw = toy
    matrix = protocol.score_matrices(distances, draw)
    np.testing.assert_allclose(matrix, example["expected"]["d"], rtol=0, atol=1e-11)


def test_golden_verification(toy):
    example, distances, draw = toy
    for n, auc, eer in zip(*(example["expected"][key] for key in ("n", "auc", "eer")), strict=True):
        trials = protocol.verification_trials(distances, [draw], n=n)
        found = verification(trials.scores, trials.genuine, people=trials.people)
        assert found.auc == pytest.approx(auc, abs=example["tolerance"])
        assert found.eer == pytest.approx(eer, abs=example["tolerance"])


def test_golden_identification_and_imposters(toy):
    example, distances, draw = toy
    enrolled = example["inputs"]["enrolled_subjects_of_the_imposter_case"]
    for matrix, accuracy, auc, misidentified in zip(
        protocol.score_matrices(distances, draw),
        *(
            example["expected"][key]
            for key in ("accuracy_all", "imposter_auc", "imposter_misidentified")
        ),
        strict=True,
    ):
        everybody = np.arange(6)
        named = identification(matrix, everybody, everybody)
        assert named.accuracy == pytest.approx(accuracy, abs=example["tolerance"])
        seen = imposters(matrix[:, enrolled], everybody, enrolled)
        assert seen.auc == pytest.approx(auc, abs=example["tolerance"])
        assert seen.misidentification == pytest.approx(misidentified, abs=example["tolerance"])


def test_golden_standard_error():
    example = golden("standard_error")
    mean, error = protocol.mean_and_standard_error(example["inputs"]["values"])
    assert mean == pytest.approx(example["expected"]["mean"], abs=example["tolerance"])
    assert error == pytest.approx(example["expected"]["standard_error"], abs=example["tolerance"])


@pytest.mark.parametrize("name", ["diem", "gait", "eeg"])
def test_golden_counts(name):
    example = golden("counts")
    people, expected = example["expected"]["test"][name], example["expected"]
    fractions = example["inputs"]["fractions"]
    assert [protocol.identified_people(f, people) for f in fractions] == expected["identified"][
        name
    ]
    assert [
        protocol.enrolled_beside_imposters(f, people) for f in fractions if f <= 0.5
    ] == expected["enrolled_with_imposters"][name]
    assert people // 2 == expected["imposters"][name]


def test_scores_are_those_of_slow_loops_on_distances_that_are_not_symmetric():
    distances, subjects, _ = recordings(people=4, each=8)
    distances = distances * np.random.default_rng(1).uniform(0.5, 2.0, distances.shape)
    draw = random_enrollments(subjects, observed=3)[0]
    matrix = protocol.score_matrices(distances, draw)
    for n in (1, 2, 3):
        for a in range(4):
            slow = oracles.person_distances(distances, draw.observed[a, :n], draw.enrolled)
            np.testing.assert_allclose(matrix[n - 1, a], slow, rtol=1e-12)


@pytest.mark.parametrize("sessions", [False, True])
def test_verification_figures_are_means_of_slow_loops_over_the_draws(sessions):
    distances, subjects, latest = recordings(people=5, each=8)
    if sessions:
        records = session_protocol(distances, subjects, latest, observed=3, n=(2,), repetitions=3)
        draws = session_enrollments(subjects, latest, observed=3, repetitions=3)
        name = "session_verification"
    else:
        records = paper_protocol(distances, subjects, observed=3, n=(2,), repetitions=3)
        draws = random_enrollments(subjects, observed=3, repetitions=3)
        name = "verification"
    aucs, eers = [], []
    for draw in draws:
        matrix = np.array(
            [oracles.person_distances(distances, row[:2], draw.enrolled) for row in draw.observed]
        )
        genuine, imposter = np.diag(matrix), matrix[~np.eye(5, dtype=bool)]
        aucs.append(oracles.auc(genuine, imposter))
        eers.append(oracles.eer(genuine, imposter))
    assert value(records, protocol=name, metric="auc") == pytest.approx(np.mean(aucs))
    assert value(records, protocol=name, metric="eer") == pytest.approx(np.mean(eers))


def test_records_are_entries_of_a_card():
    records = paper_protocol(*recordings()[:2])
    assert json.loads(json.dumps(records)) == records
    for record in records:
        assert {"protocol", "n", "metric", "value", "stderr", "trials"} <= set(record)
        assert 0.0 <= record["value"] <= 1.0 and record["stderr"] >= 0.0
    keys = [(r["protocol"], r["n"], r["metric"], r["fraction"]) for r in records]
    assert len(set(keys)) == len(keys)
    assert {r["trials"] for r in records if r["protocol"] == "verification"} == {144}


def test_the_two_protocols_have_different_names():
    distances, subjects, latest = recordings()
    names = {r["protocol"] for r in paper_protocol(distances, subjects)}
    assert names == {"verification", "identification", "imposters"}
    stricter = {r["protocol"] for r in session_protocol(distances, subjects, latest)}
    assert stricter == {f"session_{name}" for name in names}


def test_rates_are_reported_where_imposter_trials_are_enough():
    metrics = {r["metric"] for r in paper_protocol(*recordings(people=12)[:2], n=(1,))}
    assert "tar_at_far_0.01" in metrics and "tar_at_far_0.001" not in metrics


def test_imposters_are_not_evaluated_beyond_one_half():
    records = paper_protocol(*recordings()[:2], fractions=(0.25, 0.75))
    assert {r["fraction"] for r in records if r["protocol"] == "imposters"} == {0.25}
    assert {r["fraction"] for r in records if r["protocol"] == "identification"} == {0.25, 0.75}


def test_figures_depend_on_the_seed_and_on_nothing_else():
    distances, subjects, _ = recordings(noise=3.0)
    first = paper_protocol(distances, subjects, seed=2)
    assert first == paper_protocol(distances, subjects, seed=2)
    assert first != paper_protocol(distances, subjects, seed=3)


def test_people_with_too_few_recordings_are_left_out_and_counted():
    distances, subjects, _ = recordings(people=6)
    kept = np.r_[0:4, 9 : subjects.size]  # four recordings of the first person
    records = paper_protocol(distances[np.ix_(kept, kept)], subjects[kept])
    assert {(r["people"], r["left_out"]) for r in records} == {(5, 1)}


def test_more_observed_recordings_raise_the_auc():
    records = paper_protocol(*recordings(people=20, each=12, noise=3.0)[:2])
    aucs = [value(records, protocol="verification", metric="auc", n=n) for n in range(1, 6)]
    assert aucs[-1] > aucs[0] + 0.02


def test_separated_people_are_always_identified():
    subjects = np.repeat(np.arange(8), 7)
    records = paper_protocol((subjects[:, None] != subjects).astype(float), subjects)
    for record in records:
        right = 0.0 if record["metric"] in ("eer", "misidentification") else 1.0
        assert (record["value"], record["stderr"]) == (right, 0.0)


def test_uninformative_distances_give_chance_level():
    records = paper_protocol(
        np.ones((56, 56)), np.repeat(np.arange(8), 7), n=(1,), fractions=(0.5,)
    )
    assert value(records, metric="auc", protocol="verification") == 0.5
    assert value(records, metric="eer", protocol="verification") == 0.5
    assert value(records, protocol="identification") == pytest.approx(0.25)
    assert value(records, metric="misidentification") == pytest.approx(0.75)


def test_without_randomness_the_standard_error_is_0():
    distances, subjects, latest = recordings()
    records = session_protocol(distances, subjects, latest, n=(5,))
    assert {r["stderr"] for r in records if r["protocol"] == "session_verification"} == {0.0}


def test_two_people_are_enough():
    records = paper_protocol(*recordings(people=2)[:2])
    assert {r["trials"] for r in records if r["protocol"] == "imposters"} == {2}


@pytest.mark.slow
def test_two_thousand_recordings_take_less_than_two_seconds_of_a_processor():
    distances, subjects, _ = recordings(people=100, each=20)
    took = []
    for _ in range(2):
        start = time.process_time()
        paper_protocol(distances, subjects)
        took.append(time.process_time() - start)
    assert min(took) < 2.0


def test_trials_of_all_draws_go_into_verification_with_their_people():
    distances, subjects, _ = recordings(people=6)
    draws = random_enrollments(subjects, repetitions=4)
    trials = protocol.verification_trials(distances, draws, n=3)
    found = verification(trials.scores, trials.genuine, people=trials.people, bootstrap=30)
    assert found.trials == (4 * 6, 4 * 30)
    with pytest.raises(ValueError, match="from 1 to 5.*Received 6"):
        protocol.verification_trials(distances, draws, n=6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": (1, 6)}, "from 1 to `observed` = 5.*Raise `observed`"),
        ({"n": ()}, "from 1 to `observed`"),
        ({"n": (0,)}, "from 1 to `observed`"),
        ({"repetitions": 1}, "`repetitions` = 1"),
        ({"fractions": (1.5,)}, "at most 1"),
        ({"fractions": (0.0,)}, "above 0"),
        ({"observed": 9}, "more than 9 recordings"),
    ],
)
def test_impossible_requests_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        paper_protocol(*recordings()[:2], **change)


def test_matrices_that_do_not_fit_are_refused():
    distances, subjects, _ = recordings()
    with pytest.raises(ValueError, match=r"\(108, 108\).*\(107,\)"):
        paper_protocol(distances, subjects[1:])
    distances[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"`distances` must be finite.*\(3, 4\)"):
        paper_protocol(distances, subjects)


def test_the_draws_of_recordings_and_of_people_follow_the_seed():
    """Tests people whose latest session has five recordings. If the protocol uses all five
    recordings, the seed affects only the draw of people.
    """
    distances, subjects, sessions = recordings(noise=3.0)
    by_seed = [
        {
            "recordings": value(
                paper_protocol(distances, subjects, seed=seed, n=(1,)),
                protocol="verification",
                metric="auc",
            ),
            "all": value(
                across := session_protocol(distances, subjects, sessions, seed=seed, n=(5,)),
                protocol="session_verification",
                metric="auc",
            ),
            "people": value(across, protocol="session_identification", fraction=0.25),
        }
        for seed in (2, 3)
    ]
    changed = {name for name in by_seed[0] if by_seed[0][name] != by_seed[1][name]}
    assert changed == {"recordings", "people"}


def test_both_protocols_evaluate_one_to_five_observed_recordings_by_default():
    distances, subjects, sessions = recordings()
    for records in (
        paper_protocol(distances, subjects, repetitions=2),
        session_protocol(distances, subjects, sessions, repetitions=2),
    ):
        assert {record["n"] for record in records} == {1, 2, 3, 4, 5}
        assert {record["repetitions"] for record in records} == {2}
