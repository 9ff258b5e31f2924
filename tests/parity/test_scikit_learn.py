"""Compares error rates, neighbors, clusters, discriminants and shrinkage with scikit-learn."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn import metrics
from sklearn.cluster import KMeans
from sklearn.covariance import empirical_covariance, ledoit_wolf, oas
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import LabelEncoder, StandardScaler, normalize

from keras_dml import distances, evaluation
from keras_dml._backend import ops
from keras_dml.geometry import spd, vector
from keras_dml.layers import LinearDiscriminants
from keras_dml.training import discriminants


def numpy(tensor):
    return np.asarray(ops.convert_to_numpy(tensor))


def trials(rng, decimals, genuine=40, imposter=60):
    """Draws scores of trials. With few decimals, many scores are tied."""
    scores = np.concatenate([rng.normal(0, 1, genuine), rng.normal(1, 1, imposter)])
    return np.round(scores, decimals), np.arange(genuine + imposter) < genuine


def clusters_of_points(rng, classes=4, per_class=8, features=3, spread=0.8):
    labels = np.repeat(np.arange(classes), per_class)
    points = rng.normal(scale=2, size=(classes, features))[labels]
    order = rng.permutation(len(labels))
    return (points + rng.normal(scale=spread, size=points.shape))[order], labels[order]


# ---- verification -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*may be similarities:UserWarning")  # of few random trials
def test_areas_and_curves_of_trials_with_and_without_ties(rng):
    for decimals, (genuine, imposter) in itertools.product((0, 1, 9), ((40, 60), (1, 30), (25, 1))):
        scores, labels = trials(rng, decimals, genuine, imposter)
        figures = evaluation.verification(scores, labels)
        assert figures.auc == pytest.approx(metrics.roc_auc_score(labels, -scores))
        far, tar, thresholds = metrics.roc_curve(labels, -scores, drop_intermediate=False)
        np.testing.assert_allclose(figures.roc.far, far, rtol=0, atol=1e-15)
        np.testing.assert_allclose(figures.roc.tar, tar, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(figures.roc.thresholds, -thresholds)
        for threshold in np.unique(scores)[::15]:
            matrix = metrics.confusion_matrix(labels, scores <= threshold, labels=[False, True])
            (_, false_accepts), (false_rejects, _) = matrix
            expected = false_accepts / imposter, false_rejects / genuine
            assert figures.errors_at(threshold) == pytest.approx(expected)


def test_equal_error_rates_are_where_the_interpolated_curve_crosses(rng):
    for decimals, seed in itertools.product((0, 1, 9), range(4)):
        scores, labels = trials(np.random.default_rng(seed), decimals)
        far, tar, _ = metrics.roc_curve(labels, -scores, drop_intermediate=False)
        along = np.arange(len(far))
        place = brentq(
            lambda t, far=far, tar=tar, along=along: (
                np.interp(t, along, far) + np.interp(t, along, tar) - 1
            ),
            0,
            len(far) - 1,
        )
        expected = pytest.approx(np.interp(place, along, far), abs=1e-9)
        assert evaluation.equal_error_rate(scores, labels).rate == expected
        assert evaluation.verification(scores, labels).eer == expected


def test_detection_costs_are_the_least_on_the_det_curve(rng):
    for decimals, prior in itertools.product((0, 9), (0.05, 0.5)):
        scores, labels = trials(rng, decimals)
        # In scikit-learn, false positives are accepted imposters, and scores are similarities.
        far, frr, _ = metrics.det_curve(labels, -scores)
        far, frr = np.append(far, [0, 1]), np.append(frr, [1, 0])  # accepts nobody, and everybody
        costs = (prior * frr + (1 - prior) * far) / min(prior, 1 - prior)
        result = evaluation.detection_cost(scores, labels, prior=prior)
        assert result.cost == pytest.approx(costs.min())


def test_novelty_is_detected_with_the_same_area(rng):
    members, new = np.round(rng.normal(size=30), 1), np.round(rng.normal(1, 1, 20), 1)
    expected = metrics.roc_auc_score(np.arange(50) >= 30, np.concatenate([members, new]))
    assert evaluation.novelty_detection(members, new).auroc == pytest.approx(expected)


def test_scores_that_are_not_finite_are_refused_on_both_sides(rng):
    scores, labels = trials(rng, 9)
    for value in (np.nan, np.inf, -np.inf):
        scores[3] = value
        with pytest.raises(ValueError):
            metrics.roc_auc_score(labels, -scores)
        for figure in (
            evaluation.verification,
            evaluation.equal_error_rate,
            evaluation.detection_cost,
        ):
            with pytest.raises(ValueError, match="`scores` must be finite.*index .3"):
                figure(scores, labels)


def test_one_kind_of_trial_has_no_area():
    """Tests that an error is raised if all trials are genuine or all are imposter trials. For such
    trials, scikit-learn warns and returns NaN.
    """
    scores, labels = np.arange(4.0), np.ones(4, bool)
    with pytest.warns(metrics._ranking.UndefinedMetricWarning):
        assert np.isnan(metrics.roc_auc_score(labels, scores))
    with pytest.raises(ValueError, match="4 genuine and 0 imposter"):
        evaluation.verification(scores, labels)


# ---- neighbors and retrieval ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["euclidean", "cosine"])
def test_nearest_entries(rng, name):
    queries, gallery = rng.normal(size=(12, 5)), rng.normal(size=(30, 5))
    neighbors = NearestNeighbors(metric=name).fit(gallery)
    for k in (1, 7, 30):
        expected = neighbors.kneighbors(queries, k, return_distance=False)
        result = evaluation.nearest_entries(queries, gallery=gallery, distance=name, k=k)
        np.testing.assert_array_equal(result, expected)
    expected = neighbors.kneighbors(n_neighbors=5, return_distance=False)  # without the query
    result = evaluation.nearest_entries(gallery, distance=name, k=5)
    np.testing.assert_array_equal(result, expected)


def test_recall_at_one_is_the_accuracy_of_the_nearest_neighbor(rng):
    gallery, gallery_labels = clusters_of_points(rng)
    queries, labels = gallery + rng.normal(scale=0.9, size=gallery.shape), gallery_labels
    names = np.array(["dora", "ann", "finn", "bob"])
    for entries in (gallery_labels, names[gallery_labels]):
        classes = labels if entries is gallery_labels else names[labels]
        nearest = KNeighborsClassifier(1).fit(gallery, entries)
        options = {"gallery": gallery, "gallery_labels": entries}
        result = evaluation.retrieval(queries, classes, k=(1, 3), **options)
        assert result.recall_at_k[1] == pytest.approx(nearest.score(queries, classes))
        table = metrics.pairwise_distances(queries, gallery)
        accuracy = evaluation.identification(table, classes, entries).accuracy
        assert accuracy == pytest.approx(nearest.score(queries, classes))


def test_precision_at_r_and_average_precision(rng):
    """Compares R-precision with scikit-learn's precision of the R nearest neighbors.

    MAP@R ignores ranks beyond R, so it is at most the mean average precision. MAP@R and average
    precision are 1 only for perfect rankings.
    """
    for spread in (0.01, 0.8, 5.0):
        points, labels = clusters_of_points(rng, 4, 5, spread=spread)
        result = evaluation.retrieval(points, labels)
        table = metrics.pairwise_distances(points)
        precisions, averages, truncated = [], [], []
        for query in range(len(points)):
            rest = np.arange(len(points)) != query
            relevant, away = labels[rest] == labels[query], table[query, rest]
            count = relevant.sum()
            nearest = away <= np.sort(away)[count - 1]
            precisions.append(metrics.precision_score(relevant, nearest))
            averages.append(metrics.average_precision_score(relevant, -away))
            ranked = relevant[np.argsort(away)][:count]
            truncated.append(np.sum(ranked * np.cumsum(ranked) / np.arange(1, count + 1)) / count)
        assert result.r_precision == pytest.approx(np.mean(precisions))
        assert result.map_at_r == pytest.approx(np.mean(truncated))
        assert result.map_at_r <= np.mean(averages) + 1e-12
        perfect = [np.isclose(figure, 1) for figure in (result.map_at_r, np.mean(averages))]
        assert perfect in ([True, True], [False, False])


def test_tied_distances_count_as_the_mean_over_their_orders(rng):
    """Tests that tied neighbors count as the mean over all their orders.

    scikit-learn orders tied neighbors by index. If the gallery is shuffled many times, the mean of
    scikit-learn's results converges to the result of keras-dml.
    """
    points = rng.integers(0, 2, size=(12, 2)).astype(float)
    labels, queries = np.arange(12) % 3, np.array([[0.0, 0.0], [1.0, 0.0]])
    classes = np.array([0, 1])
    hits = []
    for _ in range(600):
        order = rng.permutation(12)
        index = metrics.pairwise_distances_argmin(queries, points[order])
        hits.append(labels[order][index] == classes)
    result = evaluation.retrieval(queries, classes, gallery=points, gallery_labels=labels, k=(1,))
    np.testing.assert_allclose(
        result.per_query.recall_at_k[:, 0], np.mean(hits, axis=0), rtol=0, atol=0.08
    )


def test_neither_names_nor_numbers_of_classes_matter(rng):
    points, labels = clusters_of_points(rng)
    names = np.array(["b", "ä", "a", "Z"])[labels]
    encoded = LabelEncoder().fit_transform(names)
    expected = evaluation.retrieval(points, labels)
    for same_classes in (names, encoded, names.tolist(), labels * 7 - 3, labels + 2**40):
        result = evaluation.retrieval(points, same_classes)
        assert result.recall_at_k == expected.recall_at_k
        assert result.map_at_r == pytest.approx(expected.map_at_r)
        agreement = evaluation.clustering(same_classes, labels)
        assert agreement.nmi == pytest.approx(1) and agreement.f1 == 1


# ---- vectors ----------------------------------------------------------------------------------


def euclidean(x, y):
    """Computes Euclidean distances from differences of vectors, with scikit-learn.

    By default, scikit-learn computes the distances from products. For equal rows at a distance of
    1,000 from the origin, scikit-learn then returns 4e-5.
    """
    return metrics.pairwise_distances(x, y, metric="minkowski", p=2)


def test_distances_of_vectors(rng):
    for scale, offset in ((1, 0), (1e-4, 0), (1e8, 0), (1, 1e3)):
        x, y = (offset + scale * rng.normal(size=(n, 7)) for n in (5, 9))
        y[0] = x[0]
        expected = euclidean(x, y)
        limit = 1e-12 * np.abs(expected).max()
        for result in (vector.euclidean(x, y), distances.get("euclidean")(x, y)):
            np.testing.assert_allclose(result, expected, rtol=1e-9, atol=limit)
        expected = metrics.pairwise.cosine_similarity(x, y)
        np.testing.assert_allclose(vector.cosine(x, y), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(distances.get("cosine")(x, y), -expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(vector.unit(x), normalize(x), rtol=0, atol=1e-12)


def test_many_vectors_far_from_zero_keep_their_distances(rng):
    """Tests large sets of vectors, whose distances are computed from products.

    keras-dml subtracts the mean of the vectors before it computes the products. Without this step,
    the products would suffer from cancellation.
    """
    x = 1e4 + rng.normal(size=(400, 300))
    y = np.concatenate([x[:100], 1e4 + rng.normal(size=(300, 300))])
    expected = euclidean(x, y)
    np.testing.assert_allclose(vector.euclidean(x, y), expected, rtol=1e-6, atol=1e-5)
    x, y = x.astype("float32"), y.astype("float32")
    expected = euclidean(x.astype("float64"), y.astype("float64"))
    np.testing.assert_allclose(vector.euclidean(x, y), expected, rtol=1e-3, atol=5e-2)


# ---- clusters ---------------------------------------------------------------------------------


def test_agreement_of_clusters_and_classes(rng):
    cases = [rng.integers(0, k, size=(2, 40)) for k in (1, 2, 5, 30)]
    cases += [np.stack([np.arange(12), np.zeros(12, int)]), np.stack([np.arange(12)] * 2)]
    for labels, clusters in cases:
        result = evaluation.clustering(labels, clusters)
        expected = metrics.v_measure_score(labels, clusters)
        assert result.nmi == pytest.approx(expected, abs=1e-12)
        pairs = itertools.combinations(range(len(labels)), 2)
        classes, together = np.array(
            [(labels[i] == labels[j], clusters[i] == clusters[j]) for i, j in pairs]
        ).T
        for figure, peer in (
            (result.precision, metrics.precision_score),
            (result.recall, metrics.recall_score),
        ):
            assert figure == pytest.approx(peer(classes, together, zero_division=1))
        mean = metrics.fowlkes_mallows_score(labels, clusters)
        if result.pairs[0]:
            assert np.sqrt(result.precision * result.recall) == pytest.approx(mean)


def test_clusters_of_embeddings(rng):
    points, labels = clusters_of_points(rng, spread=0.3)
    clusters = KMeans(4, n_init=10, random_state=1).fit_predict(points)
    result = evaluation.embedding_clustering(points, labels)
    assert result.nmi == pytest.approx(metrics.normalized_mutual_info_score(labels, clusters))
    assert result.clusters == 4
    point = evaluation.embedding_clustering(np.zeros((8, 2)), np.arange(8) % 2)
    assert (point.nmi, point.clusters) == (0, 1)


# ---- discriminants and shrinkage --------------------------------------------------------------


@pytest.mark.parametrize("features", [5, 40])
def test_linear_discriminants(rng, features):
    """Tests that applying kernel and bias equals three steps of scikit-learn in sequence: scaling,
    principal components and discriminants with shrinkage.
    """
    points, people = clusters_of_points(rng, 5, 12, features)
    scaled = StandardScaler().fit_transform(points)
    components = PCA(svd_solver="full").fit_transform(scaled)
    shrunk = LinearDiscriminantAnalysis("eigen", shrinkage=0.1, n_components=3)
    expected = shrunk.fit_transform(components, people)
    layer = LinearDiscriminants(3, limit=1e6, dtype="float64")
    layer.build((None, features))
    layer.set_weights(discriminants.linear_weights(points, people, 3))
    result = numpy(layer(points))
    signs = np.sign(np.sum(result * expected, axis=0))
    np.testing.assert_allclose(result * signs, expected, rtol=0, atol=1e-6)
    bounded = LinearDiscriminants(3, limit=2.0, dtype="float64")
    bounded.build((None, features))
    bounded.set_weights(layer.get_weights())
    np.testing.assert_allclose(bounded(points), 2 * np.tanh(result / 2), rtol=0, atol=1e-9)


def test_features_that_do_not_vary_take_no_discriminant(rng):
    """Tests that directions without variance do not replace weak discriminants.

    scikit-learn ranks such directions above weak discriminants, because its shrunk total covariance
    and its shrunk within-class covariance differ in these directions. With five features without
    variance, five of eight discriminants of scikit-learn were 0. If there are more features than
    windows, one direction also has no variance.
    """
    people = np.repeat(np.arange(12), 10)
    strengths = np.linspace(0.3, 1.5, 8)
    points = (rng.normal(size=(12, 8)) * strengths)[people] + rng.normal(size=(120, 8))
    for constants in (0, 1, 5, 20):
        features = np.concatenate([np.full((120, constants), 4.0), points], axis=1)
        kernel, bias = discriminants.linear_weights(features, people, 8)
        assert (kernel[:constants] == 0).all()
        outputs = features @ kernel + bias
        assert outputs.std(axis=0).min() > 0.1, f"{constants} constant features"
    few = rng.normal(size=(30, 40)) + rng.normal(size=(10, 40))[np.arange(30) % 10]
    kernel, bias = discriminants.linear_weights(few, np.arange(30) % 10, 9)
    assert (few @ kernel + bias).std(axis=0).min() > 0.1


def test_shrunk_covariance_matrices(rng):
    peers = {
        "sample": lambda x: empirical_covariance(x) * len(x) / (len(x) - 1),
        "oas": lambda x: oas(x)[0],
        "ledoit_wolf": lambda x: ledoit_wolf(x)[0],
    }
    for (name, peer), (steps, channels) in itertools.product(
        peers.items(), ((2, 4), (5, 12), (200, 3))
    ):
        x = rng.normal(size=(steps, channels)) @ rng.normal(size=(channels, channels))
        for scale in (1e-12, 1, 1e12):
            expected = peer(scale * x)
            result = numpy(spd.covariance(scale * x[None], estimator=name))[0]
            limit = 1e-9 * np.abs(expected).max()
            np.testing.assert_allclose(result, expected, rtol=0, atol=limit, err_msg=name)
