"""Explains the distance between two recordings."""

import dataclasses
import functools

import numpy as np

from keras_dml import inference, inputs
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Path
from keras_dml.explanations import _matrices, _quantile, occlusion
from keras_dml.explanations._result import Explanation
from keras_dml.geometry import spd
from keras_dml.layers import TangentMap, TangentVector
from keras_dml.zoo import reading


def explain(model: keras.Model | Path, a: ArrayLike, b: ArrayLike) -> Explanation:
    """Explains the distance between two recordings by moments, channels or regions.

    A moment is a span of time steps of a recording. Two kinds of distances are sums of parts. Each
    part belongs to a moment or to channels:

    - For quantile embeddings, the distance has a part for each filter and each segment of the
      quantile functions, and a part for each moment of the two recordings. The optimal transport
      plan moves the activations of a filter from one recording to the other. The dual potentials of
      the transport plan (Villani2009, Theorem 5.10) divide the transport cost among the
      activations, and each activation covers certain time steps. The parts of each recording sum to
      half of the distance.
    - For SPD matrices and their tangent vectors, the log-Euclidean and the affine-invariant
      distance have a part for each pair of channels. The log-Euclidean and the affine-invariant
      distance are norms of a symmetric matrix (`geometry.spd.difference`). The parts are the
      squared entries of the symmetric matrix, divided by the distance.

    All other distances, such as a cosine or a learned similarity, are explained by occlusion
    (Zeiler2014). Occlusion removes one part of a recording and computes the distance again.
    Occlusion removes 20 moments, one at a time. If there are several channels, occlusion also
    removes each channel. In images, occlusion removes 25 regions, one at a time. If the network
    mixes moments or channels, the distances between quantile embeddings and between SPD matrices
    are also explained by occlusion. In explanations by occlusion, the parts do not sum to the
    distance (`Explanation.by_removal`). Occlusion computes one embedding per moment and two
    embeddings per channel.

    On walks of 40 people who were not in the training data of `gait_qp_wl`, we tested whether
    masking the moments of an explanation changes the score (`tests/bench/explanations.py`). The
    test masked a fifth of each walk. The score is the distance to the nearest enrolled recording of
    the claimed person. In false claims, masking the moments with the largest parts lowered the
    score by 11.2 %, and masking other spans of equal length lowered the score by 3.2 % (difference:
    8.0 points, 95 % confidence interval: 6.2 to 9.8). In true claims, masking the moments with
    negative parts raised the score by 68 %, and masking other spans raised the score by 36 %
    (difference: 32 points, 95 % confidence interval: 24 to 42). In true claims, masking any span
    raises the score. In true claims, masking the moments with the largest parts raised the score by
    11.4 %, and masking other spans raised the score by 23.4 %. The moments with the largest parts
    are therefore not the moments that change the score of a true claim most.

    Explanations by moments are less exact if each activation of the network depends on a long part
    of the recording. In the model
    `zoo/papers/vowels_qp_wl`, for example, each activation depends on a whole vowel. We tested this
    model by cutting out either the moment with the largest part or another span of
    equal length. In nine recordings of false claims, cutting out the moment with the largest part
    lowered the distance more than cutting out 58 % of the other spans. In nine recordings of true
    claims, cutting out the moment with the largest part had a larger effect than cutting out 62 %
    of the other spans. Cutting out a random moment would have a larger effect than cutting out 50 %
    of the other spans.

    Args:
        model: A `keras.Model` whose last layer defines the distance, or the name or path of a saved
            model.
        a: Recording, in a form that `keras_dml.embed` accepts.
        b: Second recording, in a form that `keras_dml.embed` accepts.

    Returns:
        `Explanation`.

    Raises:
        TypeError: If `model` is not a model, or if a recording does not hold real numbers.
        ValueError: If the model does not accept a recording, or does not define a distance.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.normal(size=(2, 100, 6)) * [0.5, 0.4, 0.4, 60, 170, 80]
        >>> explanation = explain("gait_qp_wl", a, b)
        >>> parts = explanation.parts
        >>> parts.shape, bool(np.isclose(parts.sum(), explanation.distance))
        ((64, 17), True)
    """
    model = reading.loaded(model)
    z = inference.embed(model, [a, b], progress=False)
    return _between(model, dict(zip("ab", z, strict=True)), {"a": a, "b": b})


def explain_nearest(
    model: keras.Model | Path, recording: ArrayLike, embeddings: np.ndarray
) -> Explanation:
    """Explains the distance between a recording and the nearest of several embeddings.

    Use this function if the recordings from which the embeddings were computed are not available.
    The explanation names the recording `"probe"`. For a Wasserstein distance, the moments of the
    probe explain half of the distance. The other half of the distance belongs to the recording from
    which the nearest embedding was computed. The moments of the recording behind the nearest
    embedding are unknown.

    Args:
        model: Model, in a form that `explain` accepts.
        recording: Recording, in a form that `keras_dml.embed` accepts.
        embeddings: Embeddings that the same model computed, shape `(count, ...)`, at least one.

    Returns:
        `Explanation`.

    Raises:
        TypeError: If `explain` would raise a `TypeError` for these arguments.
        ValueError: If `explain` would raise a `ValueError`, or if another model computed the
            embeddings.
    """
    model = reading.loaded(model)
    z = inference.embed(model, [recording], progress=False)
    nearest = np.argmin(inference.distance(model, z, embeddings)[0])
    return _between(model, {"probe": z[0], "enrolled": embeddings[nearest]}, {"probe": recording})


def _between(model, embeddings, recordings):
    explanation = _sum_of_parts(model, embeddings, recordings)
    if explanation is not None and (explanation.timelines or explanation.channels):
        return explanation
    encoder = inputs.encoder(model)
    network = occlusion.Network(
        inputs.from_model(model),
        reading.card_of(model),
        lambda arrays: ops.convert_to_numpy(encoder(arrays, training=False)),
        functools.partial(inference.distance, model),
    )
    by_removal = occlusion.explain_by_occlusion(network, embeddings, recordings)
    if explanation is None:
        return by_removal
    return dataclasses.replace(by_removal, parts=explanation.parts, labels=explanation.labels)


def _sum_of_parts(model, embeddings, recordings):
    """Returns an explanation whose parts sum to the distance, or None if the distance is not a sum
    of parts.
    """
    metric = inference.head_distance(model)
    encoder = inputs.encoder(model)
    x, y = embeddings.values()
    segments = metric.segment_parts(x, y)
    if segments is not None:
        return _quantile.explain_segments(encoder, metric, segments, embeddings, recordings)
    difference = metric.difference(x, y)
    if difference is None:
        return None
    if isinstance(encoder.layers[-1], (TangentMap, TangentVector)):
        difference = ops.convert_to_numpy(spd.unvectorize(difference))
    is_matrix = difference.ndim == 2
    return _matrices.explain_difference(encoder, difference) if is_matrix else None
