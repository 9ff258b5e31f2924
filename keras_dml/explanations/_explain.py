"""Explains the distance of two recordings."""

import dataclasses

import numpy as np

from keras_dml import inference, inputs
from keras_dml._backend import keras, ops
from keras_dml._typing import ArrayLike, Path
from keras_dml.explanations import _matrices, _occlusion, _quantile
from keras_dml.explanations._result import Explanation
from keras_dml.geometry import spd
from keras_dml.layers import TangentMap, TangentVector
from keras_dml.zoo import reading


def explain(model: keras.Model | Path, a: ArrayLike, b: ArrayLike) -> Explanation:
    """Explains the distance of two recordings by moments, channels or regions.

    Some distances are sums of parts that come from moments or channels:

    - Quantile embeddings: by filter and segment of the quantile functions, and by the moments of
      both recordings. The potentials of the transport plan between the activations of a filter
      (Villani2009, Theorem 5.10) divide its cost among the activations, and an activation covers
      some steps of its recording. Each recording carries one half of the distance.
    - SPD matrices with the log-Euclidean or the affine-invariant distance, and their tangent
      vectors: by pairs of channels. Both distances are the norm of a symmetric matrix
      (`geometry.spd.difference`). Its squared entries, divided by the distance, are the parts.

    All other distances, such as a cosine or a learned similarity, are explained by occlusion
    (Zeiler2014): the distance is computed again without each of 20 moments, without each channel of
    several, or without each of 25 regions of an image. Occlusion also explains quantile embeddings
    and SPD matrices if the network mixes moments or channels in an unknown way. These changes do
    not sum to the distance (`Explanation.by_removal`). They take one embedding per moment and two
    per channel.

    Moments were tested on walks of 40 people whom `gait_qp_wl` was not trained on, with a fifth of
    each walk masked (`tests/bench/explanations.py`, which also cuts and interpolates). If the
    largest moments are masked, the score of a false claim falls by 11.2 %; if spans of equal length
    elsewhere are masked, by 3.2 % (difference 8.0, 95 % interval 6.2 to 9.8). If the moments that
    are alike are masked, the score of a true claim rises by 68 %; elsewhere by 36 % (difference 32,
    interval 24 to 42). Masking any span raises the score of a true claim. If its largest moments
    are masked it rises by 11.4 %, less than the 23.4 % elsewhere, so these moments do not change it
    most.

    Moments depend on how well the network separates them. `vowels_qp_wl` uses a whole vowel around
    each step. Cutting out its largest moment brings recordings closer than cutting out 58 % (false
    claims) and 62 % (true claims) of spans of equal length, in nine recordings each, which is
    almost chance.

    Args:
        model: A `keras.Model` whose head names its distance, or the name or path of a saved model.
        a: Recording, as `keras_dml.embed` takes it.
        b: Second recording.

    Returns:
        `Explanation`.

    Raises:
        TypeError: If `model` is not a model, or a recording does not hold real numbers.
        ValueError: If the model does not take a recording, or names no distance.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> a, b = rng.normal(scale=0.1, size=(2, 20, 12))
        >>> explanation = explain("vowels_qp_wl", a, b)
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
    """Explains the distance of a recording to the nearest of several embeddings, whose recordings
    were not stored.

    The recording, named `"probe"`, carries half of a Wasserstein distance. The moments of the other
    half are unknown.

    Args:
        model: As in `explain`.
        recording: The recording.
        embeddings: Embeddings of the same model, shape `(count, ...)`, at least one.

    Returns:
        `Explanation`.

    Raises:
        TypeError: Same as in `explain`.
        ValueError: Same as in `explain`, or if the embeddings are from another model.
    """
    model = reading.loaded(model)
    z = inference.embed(model, [recording], progress=False)
    nearest = np.argmin(inference.distance(model, z, embeddings)[0])
    return _between(model, {"probe": z[0], "enrolled": embeddings[nearest]}, {"probe": recording})


def _between(model, embeddings, recordings):
    explanation = _sum_of_parts(model, embeddings, recordings)
    if explanation is not None and (explanation.timelines or explanation.channels):
        return explanation
    occlusion = _occlusion.explain_by_occlusion(model, embeddings, recordings)
    if explanation is None:
        return occlusion
    return dataclasses.replace(occlusion, parts=explanation.parts, labels=explanation.labels)


def _sum_of_parts(model, embeddings, recordings):
    """Returns an explanation whose parts sum to the distance, or None if it has no such parts."""
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
