"""Tests that the Riemannian potato, an outlier detector, agrees with pyRiemann and with the
definitions in Kim2020."""

import json
import pickle

import numpy as np
import pytest
import sklearn.base
from pyriemann.artifact_detection import Potato as PyRiemann
from pyriemann.geometry.distance import distance_riemann
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from keras_dml.geometry.spd import potato as geometry
from keras_dml.potato import Potato
from tests.geometry.matrices import assert_values, example, spd

EXAMPLE = "artefact_potato"


def fitted(**options):
    inputs, expected, _, tolerance = example(EXAMPLE, "float64")
    # The error of the center is 1e-9, and the score is divided by log_sigma, which is 0.2.
    tolerance = {**tolerance, "atol": 1e-8}
    return Potato(inputs["threshold"], **options).fit(inputs["x"]), inputs, expected, tolerance


def windows(rng, count, n, artifacts=0):
    """Draws sample covariance matrices. The first `artifacts` matrices have ten times the amplitude
    of the other matrices."""
    x = rng.normal(size=(count, 4 * n, n))
    x[:artifacts] *= 10
    return np.swapaxes(x, 1, 2) @ x / (4 * n)


def test_fit_scores_and_probabilities_are_those_of_the_definition():
    potato, inputs, expected, tolerance = fitted()
    assert potato.clean_.tolist() == expected["clean"]
    assert potato.count_ == expected["kept_after_round"][-1] == 10
    assert_values(potato.center_, expected["center"], tolerance)
    assert_values(potato.mean_, expected["log_mu"], tolerance)
    assert_values(potato.stddev_, expected["log_sigma"], tolerance)
    assert_values(potato.transform(inputs["x"]), expected["z"], tolerance)
    assert_values(potato.probability(inputs["x"]), expected["probability_clean"], tolerance)
    assert (potato.predict(inputs["x"]) == 1).tolist() == expected["clean"]


def test_arithmetic_scores_are_those_of_the_authors_of_2013():
    potato, inputs, expected, tolerance = fitted(scale="arithmetic")
    assert potato.clean_.tolist() == expected["clean"]
    assert_values(potato.transform(inputs["x"]), expected["arithmetic_z"], tolerance)


def test_partial_fit_follows_the_papers_order_and_not_pyriemanns():
    potato, inputs, expected, tolerance = fitted(update_rate=0.1)
    potato.partial_fit(inputs["new"][None])
    assert_values(potato.mean_, expected["updated_log_mu"], tolerance)
    assert_values(potato.stddev_, expected["updated_log_sigma"], tolerance)
    assert potato.count_ == 11
    assert abs(potato.mean_ - expected["pyriemann_updated_log_mu"]) > 0.01
    reference = PyRiemann(threshold=inputs["threshold"]).fit(inputs["x"])
    reference.partial_fit(inputs["new"][None], alpha=0.1)
    np.testing.assert_allclose(reference._mean, expected["pyriemann_updated_log_mu"], rtol=1e-6)
    np.testing.assert_allclose(reference._std, expected["pyriemann_updated_log_sigma"], rtol=1e-6)
    np.testing.assert_allclose(reference.covmean_, potato.center_, rtol=1e-6)


@pytest.mark.parametrize("n, threshold", [(1, 1.5), (4, 2.5), (20, 2.0)])
def test_fit_and_scores_agree_with_pyriemann(rng, n, threshold):
    x, new = windows(rng, 60, n, artifacts=5), windows(rng, 30, n, artifacts=3)
    ours, reference = Potato(threshold).fit(x), PyRiemann(threshold=threshold).fit(x)
    assert not ours.clean_[:5].any()
    np.testing.assert_allclose(ours.center_, reference.covmean_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.transform(new), reference.transform(new), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(new) == 1, reference.predict(new) == 1)
    np.testing.assert_allclose(
        ours.probability(new), reference.predict_proba(new), rtol=0, atol=1e-6
    )


def by_definition(state, x, update_rate):
    """Computes Eqs. 19-21 of Kim2020 for one accepted matrix, as the expected value of the
    update."""
    factor = np.linalg.cholesky(state.center)
    inverse = np.linalg.inv(factor)
    values, vectors = np.linalg.eigh(inverse @ x @ inverse.T)
    log_d = np.log(np.sqrt(np.sum(np.log(values) ** 2)))
    rate = 1 / (state.count + 1) if update_rate is None else update_rate
    mean = (1 - rate) * state.mean + rate * log_d
    variance = (1 - rate) * state.stddev**2 + rate * (log_d - mean) ** 2
    center = factor @ (vectors * values**rate) @ vectors.T @ factor.T
    return geometry.Statistics(center, mean, np.sqrt(variance), state.count + 1)


@pytest.mark.parametrize("update_rate", [None, 0.05])
def test_updates_are_the_papers_step_on_accepted_matrices_only(rng, update_rate):
    potato = Potato(2.5, update_rate=update_rate).fit(windows(rng, 30, 3))
    values = (potato.center_, potato.mean_, potato.stddev_, potato.count_)
    state = geometry.Statistics(*map(np.asarray, values))
    for matrix in windows(rng, 12, 3, artifacts=4):
        expected = potato.transform(matrix[None])[0]
        accepted = potato.predict(matrix[None])[0] == 1
        assert potato.update(matrix) == pytest.approx(expected, rel=1e-9)
        state = by_definition(state, matrix, update_rate) if accepted else state
    assert potato.count_ == state.count < 42
    np.testing.assert_allclose(potato.center_, state.center, rtol=1e-12)
    np.testing.assert_allclose(
        [potato.mean_, potato.stddev_], [state.mean, state.stddev], rtol=1e-12
    )


def test_it_follows_a_slow_drift(rng):
    still = windows(rng, 60, 4)
    moving, fixed = Potato(update_rate=0.2).fit(still), Potato(update_rate=0.0).fit(still)
    for share, matrix in zip(np.linspace(1, 4, 80), windows(rng, 80, 4), strict=True):
        scores = moving.update(share * matrix), fixed.update(share * matrix)
    assert scores[0] < 3 < scores[1]


def test_invalid_covariance_matrices_are_infinitely_far(rng):
    """Tests that the potato rejects zero, singular and negative definite matrices, NaN and infinity
    without a warning."""
    potato = Potato().fit(windows(rng, 30, 3))
    before = potato.center_.copy()
    dead = np.diag([1.0, 1.0, 0.0])
    strange = [np.zeros((3, 3)), dead, -np.eye(3), np.full((3, 3), np.nan), np.full((3, 3), np.inf)]
    assert np.isposinf(potato.transform(strange)).all()
    assert (potato.predict(strange) == -1).all() and (potato.probability(strange) == 0).all()
    potato.partial_fit(strange)
    np.testing.assert_array_equal(potato.center_, before)


def test_matrices_without_spread_have_finite_scores():
    potato = Potato().fit(np.stack([np.eye(3)] * 4))
    assert potato.transform(np.eye(3)[None])[0] == 0
    assert potato.predict(2 * np.eye(3)[None])[0] == -1


@pytest.mark.parametrize("options", [{}, {"update_rate": 0.1, "scale": "arithmetic"}])
def test_a_saved_potato_goes_on_like_the_original(rng, tmp_path, options):
    potato = Potato(2.5, **options).fit(windows(rng, 30, 3))
    potato.partial_fit(windows(rng, 5, 3))
    potato.save(tmp_path / "eeg.npz")
    loaded = Potato.load(tmp_path / "eeg.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["eeg.npz"]
    assert (tmp_path / "eeg.npz").stat().st_size < 2500
    for matrix in windows(rng, 5, 3):
        assert potato.update(matrix) == loaded.update(matrix)
    np.testing.assert_array_equal(potato.center_, loaded.center_)
    assert (potato.mean_, potato.count_) == (loaded.mean_, loaded.count_)
    assert (loaded.threshold, loaded.update_rate) == (2.5, options.get("update_rate"))


def test_a_damaged_or_foreign_file_is_told(rng, tmp_path):
    good, bad = tmp_path / "eeg.npz", tmp_path / "bad.npz"
    Potato().fit(np.exp(rng.normal(size=(9, 1, 1)))).save(good)
    bad.write_bytes(good.read_bytes()[:-40])
    np.savez(tmp_path / "other.npz", x=np.eye(2))
    for name in ("bad", "other"):
        with pytest.raises(
            ValueError, match=rf"{name}\.npz is not a file of a `Potato`, or it is damaged"
        ):
            Potato.load(tmp_path / f"{name}.npz")
    with pytest.raises(FileNotFoundError):
        Potato.load(tmp_path / "none.npz")


def test_a_file_cut_anywhere_or_with_a_byte_changed_is_a_potato_or_refused(rng, tmp_path):
    good, bad = tmp_path / "eeg.npz", tmp_path / "bad.npz"
    Potato().fit(windows(rng, 9, 2)).save(good)
    blob = good.read_bytes()
    cut = [blob[:size] for size in range(0, len(blob), 37)]
    changed = [
        blob[:i] + bytes([blob[i] ^ flip]) + blob[i + 1 :]
        for i in range(0, len(blob), 7)
        for flip in (1, 0x55)
    ]
    for damaged in cut + changed:
        bad.write_bytes(damaged)
        try:
            Potato.load(bad)
        except ValueError as error:
            assert "is damaged" in str(error)


def odd(**changed):
    """Returns the content of a potato's file in which the given arrays are replaced."""
    settings = {"threshold": 3.0, "update_rate": None, "scale": "geometric"}
    arrays = {"center": np.eye(2), "mean": 0.1, "stddev": 0.2, "count": 9}
    return {"settings": json.dumps(settings), **arrays, **changed}


@pytest.mark.parametrize(
    "changed",
    [
        {"center": np.full((2, 2), np.nan)},
        {"center": np.eye(2) * 1j},
        {"center": np.eye(2).astype(str)},
        {"center": np.ones((2, 3))},
        {"center": np.array([[1.0, 0.5], [0, 1]])},
        {"center": -np.eye(2)},
        {"center": np.eye(2)[0]},
        {"mean": np.inf},
        {"mean": np.zeros(3)},
        {"stddev": -1.0},
        {"count": 0},
        {"settings": "[]"},
        {"settings": "{" * 5000},
        {"settings": '{"threshold": 1e999, "update_rate": null, "scale": "geometric"}'},
        {"settings": '{"threshold": "3", "update_rate": null, "scale": "geometric"}'},
        {"settings": '{"__class__": 1}'},
    ],
)
def test_a_file_of_other_statistics_is_refused(tmp_path, changed):
    np.savez(tmp_path / "good.npz", **odd())
    assert Potato.load(tmp_path / "good.npz").count_ == 9
    np.savez(tmp_path / "odd.npz", **odd(**changed))
    with pytest.raises(
        ValueError, match=r"odd\.npz is not a file of a `Potato`, or it is damaged \(.+\)"
    ):
        Potato.load(tmp_path / "odd.npz")


def test_a_file_that_unpacks_to_more_than_it_is_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", **odd(more=np.zeros(10**6)))
    with pytest.raises(ValueError, match="damaged .*is compressed"):
        Potato.load(tmp_path / "bomb.npz")


def test_a_potato_is_saved_to_nothing_but_a_file(rng, tmp_path):
    potato = Potato().fit(windows(rng, 9, 2))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("mine")
    for path in (tmp_path / "mine", f"{tmp_path}/new/", ""):
        with pytest.raises(ValueError, match="is a folder|must end in a name"):
            potato.save(path)
    assert (tmp_path / "mine" / "diary.txt").read_text() == "mine"
    with pytest.raises(FileNotFoundError, match="folder .* does not exist"):
        potato.save(tmp_path / "none" / "eeg.npz")


@pytest.mark.parametrize(
    "x", [np.ma.masked_greater(np.ones((4, 3, 3)), 0), 1j * np.ones((4, 3, 3))]
)
def test_matrices_that_are_no_real_numbers_are_refused(rng, x):
    potato = Potato().fit(windows(rng, 9, 3))
    for ask in (potato.fit, potato.transform, potato.partial_fit, lambda x: potato.update(x[0])):
        with pytest.raises(TypeError, match="masked|complex"):
            ask(x)


def test_before_fit_there_is_nothing_to_ask(tmp_path):
    for ask in ("transform", "decision_function", "predict", "probability", "partial_fit"):
        with pytest.raises(ValueError, match=r"Call `fit\(X\)`"):
            getattr(Potato(), ask)(np.eye(2)[None])
    with pytest.raises(ValueError, match="not fitted"):
        Potato().save(tmp_path / "never.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "x, message",
    [
        (np.eye(3)[None], "at least 2 matrices"),
        (np.stack([np.eye(3), np.diag([1.0, 1, 0])]), "positive definite.*index 1"),
        (np.stack([np.eye(3), np.eye(3) * np.nan]), "not finite"),
        (np.eye(3), r"shape \(count, n, n\)"),
    ],
)
def test_what_cannot_be_fitted_is_refused(x, message):
    with pytest.raises(ValueError, match=message):
        Potato().fit(x)


def test_a_threshold_that_rejects_all_is_refused(rng):
    with pytest.raises(ValueError, match="threshold=-2.0 rejects all except . of 20.*higher"):
        Potato(-2.0).fit(spd(rng, 20, 3))


@pytest.mark.parametrize("shape", [(3, 3), (5, 2, 2), (5, 3, 4)])
def test_matrices_of_another_shape_are_refused(rng, shape):
    potato = Potato().fit(windows(rng, 9, 3))
    with pytest.raises(ValueError, match=r"shape \(count, 3, 3\).*Received shape"):
        potato.transform(np.ones(shape))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"threshold": float("nan")}, "`threshold` must be a number of standard deviations"),
        ({"scale": "log"}, r"`scale` must be one of \('geometric', 'arithmetic'\)"),
        ({"update_rate": 2}, "update_rate=2"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Potato(**options).fit(np.stack([np.eye(2)] * 3))


# ---- a scikit-learn estimator -----------------------------------------------------------------


def matrices(vectors):
    return vectors[:, :, None] * vectors[:, None, :] + np.eye(vectors.shape[1])


class OnVectors(Potato):
    """Potato that converts each vector to a matrix, because scikit-learn's checks use vectors."""

    def fit(self, X, y=None):
        return super().fit(matrices(validate_data(self, X, dtype=np.float64)))

    def partial_fit(self, X, y=None):
        return super().partial_fit(self.valid(X))

    def transform(self, X):
        return super().transform(self.valid(X))

    def valid(self, X):
        assert self.statistics_
        return matrices(validate_data(self, X, dtype=np.float64, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        return tags


INAPPLICABLE = {
    "check_n_features_in_after_fitting": "`partial_fit` before `fit`: one matrix has no spread",
    "check_fit2d_1sample": "the message speaks of matrices, not of samples",
    "check_array_api_input": "needs SCIPY_ARRAY_API",
}
CHECKS = {
    check.func.__name__: check
    for _, check in estimator_checks_generator(OnVectors(threshold=1.5), mark=None)
    if check.func.__name__ not in INAPPLICABLE
}


@pytest.mark.parametrize("name", CHECKS)
def test_it_passes_the_checks_of_scikit_learn(name):
    CHECKS[name](OnVectors(threshold=1.5))


def test_it_is_a_detector_of_outliers_in_stacks_of_matrices(rng):
    tags = sklearn.utils.get_tags(Potato())
    assert tags.estimator_type == "outlier_detector"
    assert tags.input_tags.three_d_array and not tags.input_tags.two_d_array
    x = windows(rng, 40, 3, artifacts=4)
    potato = Potato(2.5).fit(x)
    assert potato.n_features_in_ == 3
    decision, labels = potato.decision_function(x), potato.predict(x)
    np.testing.assert_array_equal(labels, np.where(decision > 0, 1, -1))
    np.testing.assert_array_equal(Potato(2.5).fit_predict(x), labels)
    np.testing.assert_allclose(Potato(2.5).fit_transform(x), 2.5 - decision, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(potato.score_samples(x), -potato.transform(x))
    assert labels[:4].tolist() == [-1] * 4 and (labels == 1).sum() > 30


def test_parameters_are_stored_as_given_and_looked_at_in_fit(rng):
    potato = Potato(4, update_rate=0.1, scale="arithmetic")
    assert potato.get_params() == {"threshold": 4, "update_rate": 0.1, "scale": "arithmetic"}
    twin = sklearn.base.clone(potato.fit(windows(rng, 9, 2)))
    assert twin.get_params() == potato.get_params() and not hasattr(twin, "center_")
    twin.set_params(scale="log")
    with pytest.raises(ValueError, match="`scale` must be one of"):
        twin.fit(windows(rng, 9, 2))


def test_a_threshold_may_change_after_fit(rng):
    potato = Potato().fit(windows(rng, 30, 3))
    x, lower = windows(rng, 30, 3), float(np.median(potato.transform(potato.center_[None])))
    assert (potato.predict(x) == 1).any()
    assert (potato.set_params(threshold=lower).predict(x) == -1).all()


def test_a_pickled_potato_goes_on_like_the_original(rng):
    potato = Potato(2.5).fit(windows(rng, 30, 3))
    twin = pickle.loads(pickle.dumps(potato))
    for matrix in windows(rng, 5, 3):
        assert twin.update(matrix) == potato.update(matrix)
    np.testing.assert_array_equal(twin.center_, potato.center_)


def test_partial_fit_is_update_by_each_matrix(rng):
    x, new = windows(rng, 30, 3), windows(rng, 6, 3, artifacts=2)
    together, one_by_one = Potato(2.5).fit(x), Potato(2.5).fit(x)
    assert together.partial_fit(new) is together
    scores = [one_by_one.update(matrix) for matrix in new]
    np.testing.assert_array_equal(together.center_, one_by_one.center_)
    assert together.count_ == one_by_one.count_ < 30 + len(new)
    assert max(scores) > 2.5


def test_before_fit_it_is_not_fitted():
    with pytest.raises(NotFittedError):
        Potato().update(np.eye(2))


@pytest.mark.parametrize("spread", [4e-5, 4e-6, 1e-8])
def test_windows_that_hardly_differ_score_as_in_pyriemann(rng, spread):
    """Tests that z-scores equal pyRiemann's for windows that differ very little. The windows differ
    by about `spread`, which is small but far above the rounding errors of float64.
    """
    noise = rng.normal(size=(42, 4, 4))
    x = np.eye(4) + spread * (noise + np.swapaxes(noise, 1, 2)) / 4
    x, new = x[:30], x[30:]
    ours, reference = Potato().fit(x), PyRiemann().fit(x)
    assert np.abs(ours.transform(new)).max() > 0.5
    np.testing.assert_allclose(ours.transform(new), reference.transform(new), rtol=1e-3, atol=1e-3)
    arithmetic = Potato(scale="arithmetic").fit(x)
    distances = distance_riemann(new, arithmetic.center_)
    expected = (distances - arithmetic.mean_) / arithmetic.stddev_
    np.testing.assert_allclose(arithmetic.transform(new), expected, rtol=1e-3)
    assert arithmetic.stddev_ < spread


def test_labels_and_weights_count_as_in_pyriemann(rng):
    x, new = windows(rng, 40, 4, artifacts=6), windows(rng, 12, 4, artifacts=2)
    y = np.ones(40, int)
    y[[3, 8, 21, 22]] = 0  # labeled artifacts, and clean windows that an expert excluded
    weights = rng.uniform(0, 2, size=40)
    plain = Potato(2.5).fit(x).transform(new)
    for labels, sample_weight in [(y, None), (None, weights), (y, weights)]:
        ours = Potato(2.5).fit(x, labels, sample_weight=sample_weight)
        reference = PyRiemann(threshold=2.5).fit(x, labels, sample_weight=sample_weight)
        np.testing.assert_allclose(ours.center_, reference.covmean_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            ours.transform(new), reference.transform(new), rtol=1e-5, atol=1e-5
        )
        assert np.abs(ours.transform(new) - plain).max() > 1e-3
        if labels is not None:
            assert not ours.clean_[labels == 0].any()
        actual = Potato(2.5).fit_transform(x, labels, sample_weight=sample_weight)
        np.testing.assert_array_equal(actual, ours.transform(x))
        actual = Potato(2.5).fit_predict(x, labels, sample_weight=sample_weight)
        np.testing.assert_array_equal(actual, ours.predict(x))


def test_known_artifacts_may_hold_anything_and_have_three_spellings(rng):
    x = windows(rng, 20, 3)
    expected = Potato().fit(x[4:]).center_
    x[:4] = np.nan
    y = np.arange(20) >= 4
    for labels in (y, y.astype(float), np.where(y, 1, -1), y.astype(int).tolist()):
        np.testing.assert_array_equal(Potato().fit(x, labels).center_, expected)


def test_known_artifacts_move_nothing_online(rng):
    x, new = windows(rng, 20, 3), windows(rng, 6, 3)
    y = np.array([1, 0, 1, 1, 0, 1])
    ours, reference = Potato().fit(x), Potato().fit(x)
    ours.partial_fit(new, y)
    reference.partial_fit(new[y == 1])
    np.testing.assert_array_equal(ours.center_, reference.center_)
    assert ours.count_ == reference.count_


@pytest.mark.parametrize(
    "y", [[1, 1, 1], np.ones(7), np.ones((6, 1)), [0, 1, 2, 1, 1, 1], [1, 1, 0.5, 1, 1, np.nan], 1]
)
def test_labels_that_do_not_fit_are_refused(rng, y):
    x = windows(rng, 6, 3)
    with pytest.raises(ValueError, match=r"`y` must hold one label per matrix \(6\)"):
        Potato().fit(x, y)
    with pytest.raises(ValueError, match=r"`y` must hold one label per matrix \(6\)"):
        Potato().fit(x).partial_fit(x, y)


def test_labels_of_names_and_without_clean_matrices_are_refused(rng):
    x = windows(rng, 6, 3)
    with pytest.raises(TypeError, match="`y` must hold real numbers"):
        Potato().fit(x, ["clean"] * 6)
    with pytest.raises(ValueError, match="at least 2 matrices"):
        Potato().fit(x, np.zeros(6))


@pytest.mark.parametrize("weights", [[1] * 5, [0] * 6, [-1] + [1] * 5, [np.nan] * 6, 1.0])
def test_sample_weights_that_do_not_fit_are_refused(rng, weights):
    with pytest.raises(ValueError, match="one non-negative number for each of the 6 matrices"):
        Potato().fit(windows(rng, 6, 3), sample_weight=weights)
