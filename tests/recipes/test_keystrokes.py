"""Tests the functions that read and compare typed sentences."""

import numpy as np
import pytest

from keras_dml import evaluation, inference
from keras_dml.training import People
from zoo import keystroke_table, keystroke_text, keystrokes, recipe
from zoo.keystroke_qp_wl import train

PEOPLE, SENTENCES = 12, 12
CODES = (65, 66, 69, 72, 84, 32)


def sentence(person, rng, presses=40):
    """Simulates a sentence, with hold times and pauses that depend on the person and the key."""
    traits = np.random.default_rng(person)
    keys = rng.integers(len(CODES), size=presses)
    holds = traits.uniform(0.05, 0.2, len(CODES))[keys] * rng.lognormal(0, 0.1, presses)
    gaps = traits.uniform(0.1, 0.4, len(CODES))[keys] * rng.lognormal(0, 0.1, presses)
    gaps[0] = 0
    return np.stack([holds, gaps, np.array(CODES)[keys]], axis=1).astype(np.float32)


def typed(people=range(PEOPLE)):
    rng = np.random.default_rng(5)
    return People(
        [sentence(person, rng) for person in people for _ in range(SENTENCES)],
        [f"{person}" for person in people for _ in range(SENTENCES)],
        [number for _ in people for number in range(SENTENCES)],
    )


def test_presses_are_two_times_and_the_key():
    record = {
        "sequence": np.arange(18, dtype=np.float32).reshape(2, 9),
        "keys": np.array([65, 32], np.int32),
    }
    np.testing.assert_array_equal(keystrokes.presses(record), [[0, 1, 65], [9, 10, 32]])


def test_the_first_sentences_are_enrolled_and_the_next_are_probes():
    """Embeddings are the numbers of the sentences, in another order than the rows."""
    people = typed(range(2)).take(np.random.default_rng(0).permutation(2 * SENTENCES))
    seen = []

    def compare(observed, enrolled):
        seen.append((observed, enrolled))
        return np.arange(observed.shape[0] * 2).reshape(-1, 2)

    embeddings = np.array(people.sessions)
    trials = keystrokes.claims(compare, embeddings, people, 1)
    observed, enrolled = seen[0]
    np.testing.assert_array_equal(enrolled, [[0, 1, 2, 3, 4]] * 2)
    np.testing.assert_array_equal(observed[:, 0], [5, 6, 7, 8, 9] * 2)
    np.testing.assert_array_equal(trials.probes, np.repeat(["0", "1"], 10))
    np.testing.assert_array_equal(trials.claims, ["0", "1"] * 10)
    assert trials.genuine.sum() == 10
    keystrokes.claims(compare, embeddings, people, 5)
    np.testing.assert_array_equal(seen[1][0], [[5, 6, 7, 8, 9]] * 2)


def test_people_with_too_few_sentences_are_left_out():
    people = typed(range(3)).take(np.arange(2 * SENTENCES + 4))
    order = keystrokes.sentences_of_people(people, 10)
    assert sorted(order) == ["0", "1"] and {len(rows) for rows in order.values()} == {10}


def test_joined_trials_contain_all_trials():
    part = keystrokes.Claims(np.arange(2.0), np.array(["a", "b"]), np.array(["a", "a"]))
    joined = keystrokes.join([part, part])
    np.testing.assert_array_equal(joined.scores, [0, 1, 0, 1])
    np.testing.assert_array_equal(joined.genuine, [True, False, True, False])


def test_nearest_l1_is_the_mean_of_the_smallest_distances():
    observed = np.array([[[0.0, 0.0], [1.0, 0.0]]])
    enrolled = np.array([[[0.0, 3.0], [2.0, 0.0]], [[9.0, 0.0], [0.0, 8.0]]])
    np.testing.assert_array_equal(keystrokes.nearest_l1(observed, enrolled), [[1.5, 8.0]])


def test_quantiles_of_letters_and_of_other_keys_are_computed_apart():
    signal = np.float32([[0.1, 0, 65], [0.1, 0.2, 65], [0.3, 0.4, 32]])
    expected = np.log(np.repeat([0.1, 0.3, 0.2, 0.4], keystrokes.KNOTS))
    quantiles = keystrokes.untrained_quantiles(People([signal], ["a"], [0]))
    np.testing.assert_allclose(quantiles, expected[None], rtol=1e-5)


@pytest.mark.slow
def test_the_closed_form_recognizes_people_to_whom_it_was_not_fitted():
    model = keystrokes.closed_form(typed(range(8)), units=5)
    tested = typed(range(8, PEOPLE))
    trials = keystroke_table.methods(model, tested)
    assert {count for _, count in trials} == set(keystroke_table.COUNTS)
    for (name, count), claims in trials.items():
        result = evaluation.verification(claims.scores, claims.genuine)
        assert result.trials.genuine == 4 * keystrokes.PROBES // count
        assert result.eer < 0.2, name


@pytest.mark.slow
def test_features_are_limited():
    model = keystrokes.closed_form(typed(range(8)), units=5)
    slow = [20 * signal for signal in typed(range(1)).signals]
    normal = inference.embed(model, typed(range(8)).signals, progress=False)[:, 0]
    outlier = inference.embed(model, slow, progress=False)[:, 0]
    assert np.abs(outlier).max() < 20 * np.abs(normal).max()


@pytest.mark.slow
def test_a_classifier_finds_sentences_only_if_the_input_shows_them():
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 4
    people = np.arange(200) // 4
    assert keystroke_text._accuracy(np.eye(4)[labels], labels, people) == 1
    assert keystroke_text._accuracy(rng.normal(size=(200, 4)), labels, people) < 0.45


def test_certificates_say_which_rates_are_not_supported():
    rng = np.random.default_rng(0)
    names = np.arange(30).astype(str)
    claims = keystrokes.Claims(rng.normal(size=900), np.repeat(names, 30), np.tile(names, 30))
    rows = keystroke_table.certificates({1: claims})
    assert [row["far"] for row in rows] == list(keystroke_table.FARS)
    assert "threshold" in rows[0] and "error" in rows[-1]


def test_windows_are_parts_of_sentences(rng):
    signals = [
        np.full((count, 3), 1.0, np.float32) * np.arange(1, count + 1)[:, None]
        for count in (4, 30, 70)
    ]
    batch = train.padded(signals)
    assert batch.shape == (3, 70, 3)
    for _ in range(20):
        for window, signal in zip(train.windows(batch, rng, 48), signals, strict=True):
            steps = window[window[:, 0] > 0]
            assert min(len(signal), train.LEAST) <= len(steps) <= min(len(signal), 48)
            np.testing.assert_array_equal(np.diff(steps[:, 0]), np.ones(len(steps) - 1))
            assert (window[len(steps) :] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", train.METHODS)
def test_a_network_of_each_method_trains_for_some_steps(method, tmp_path, monkeypatch):
    monkeypatch.setattr(train, "PAIRS", 4)
    monkeypatch.setattr(train, "STEPS_PER_EPOCH", 2)
    people = typed(range(6))
    run = recipe.Run("keystroke_qp_wl", tmp_path, tmp_path, steps=2, seed=0)
    encoder = train.trained(run, method, people)
    embeddings = inference.embed(encoder, people.signals, progress=False)
    assert len(embeddings) == len(people.signals) and np.isfinite(embeddings).all()
