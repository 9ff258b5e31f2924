"""Triplet loss with batch-all, random, semi-hard or hard mining."""

from collections.abc import Callable
from typing import Any

from keras_dml import distances
from keras_dml._arrays import number, whole
from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses import mining
from keras_dml.losses._base import MAX_DISTANCE, DistanceMatrixLoss, mean_of_terms

MININGS = ("all", "random", "semi_hard", "hard")
FALLBACKS = (None, "farthest")


@keras.saving.register_keras_serializable(package="keras_dml")
class TripletLoss(DistanceMatrixLoss):
    """Triplet loss (Schroff2015; Hermans2017; Kim2020, Eq. 1). The loss moves each anchor closer to
    its positives than to its negatives, by a margin.

    A triplet adds `max(d_ap - d_an + margin, 0)` to the loss. In the formula, `d_ap` is the
    distance between anchor and positive, and `d_an` is the distance between anchor and negative.
    The argument `mining` determines which triplets the loss selects:

    - `"all"` (batch all) selects all triplets. The mean is over all triplets, including triplets
      that add 0.
    - `"random"` combines each pair of an anchor and a positive with one random negative, drawn
      uniformly. The mean is over all pairs.
    - `"semi_hard"` combines each pair of an anchor and a positive with the nearest negative that is
      farther than the positive, but by less than the margin. The mean is over all pairs that have a
      negative in this range.
    - `"hard"` (batch hard, hard mining) combines each anchor with its farthest positive and its
      nearest negative. The mean is over anchors.

    Labels are class ids, shape `(batch,)`. Predictions are embeddings that `distance` accepts. The
    list above states, for each value of `mining`, which mean the default reduction computes.
    `keras_dml.samplers.PKSampler` draws batches in which every row has a positive.

    The random draw of negatives needs no state, because a hash of `seed` and the embeddings
    determines the negatives. The draw changes in each training step, because the embeddings change.
    If the batch and the model's weights are equal, the draw is the same.

    Args:
        margin: Margin by which the negative must be farther from the anchor than the positive, in
            units of the distance. If squared distances are compared, the margin is in squared
            units.
        mining: Rule by which triplets are selected: `"all"`, `"random"`, `"semi_hard"` or
            `"hard"`.
        distance: Distance between embeddings, given as the name of a distance or as a function
            `d(x, y)` that returns distances of shape `(n, m)`.
        squared: Whether to compare squared distances. As in the papers, the default is False for
            `"hard"`, and True for all other kinds of mining.
        soft: Whether a triplet adds `softplus(d_ap - d_an)`, which has no margin, instead of the
            hinge. `soft=True` is allowed only for `"hard"`.
        fallback: Rule for missing positives and negatives. `"farthest"` replaces missing positives
            and negatives in the same way as TensorFlow Addons. With `"farthest"` and `"semi_hard"`,
            the negative may be farther than the positive by more than the margin. If no negative is
            farther than the positive, the loss uses the farthest negative. In a batch with only one
            class, the loss uses the anchor itself as negative. With `"hard"`, the farthest row
            replaces a missing negative, and the anchor itself replaces a missing positive. By
            default, a pair or an anchor without the required positive or negative adds 0.
        seed: Seed for `"random"`, an integer from 0 to 2**32 - 1.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        TypeError, ValueError: If the margin is not a finite number, if an option is unknown or does
            not apply to the mining, if the distance does not accept the predictions, or if an eager
            call receives a label that is not a class id.

    Example:
        >>> embeddings = np.array([[0.0], [1.0], [1.5], [3.0]])
        >>> float(TripletLoss(mining="hard")(np.array([0, 0, 1, 1]), embeddings))
        1.125
    """

    def __init__(
        self,
        margin: float = 1.0,
        mining: str = "semi_hard",
        *,
        distance: distances.Distance | str | Callable[..., Any] = "euclidean",
        squared: bool | None = None,
        soft: bool = False,
        fallback: str | None = None,
        seed: int = 0,
        name: str = "triplet",
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(distance, name=name, dtype=dtype, **kwargs)
        _check_choice("mining", mining, MININGS)
        _check_choice("fallback", fallback, FALLBACKS)
        if soft and mining != "hard":
            raise ValueError(f'`soft` requires mining="hard". Received mining={mining!r}.')
        if fallback and mining not in ("semi_hard", "hard"):
            raise ValueError(
                '`fallback` requires mining="semi_hard" or mining="hard". Received '
                f"mining={mining!r}."
            )
        if whole("seed", seed, minimum=0) >= 2**32:
            raise ValueError(f"`seed` must be from 0 to 2**32 - 1. Received seed={seed!r}.")
        self.margin = number("margin", margin)
        self.mining = mining
        self.squared = squared
        self.soft = bool(soft)
        self.fallback = fallback
        self.seed = int(seed)
        self._squares = mining != "hard" if squared is None else bool(squared)
        if self._squares and not self.distance.is_zero_at_itself:
            raise ValueError(
                f"Received the distance {self.distance.name}, which may be negative. Squaring "
                "negative distances changes their order. Pass `squared=False`."
            )

    def distance_matrix(self, embeddings: Tensor) -> Tensor:
        if not self._squares:
            return super().distance_matrix(embeddings)
        if not self.distance.has_cheap_square:
            return ops.square(super().distance_matrix(embeddings))
        return ops.minimum(self.distance.squared(embeddings, embeddings), MAX_DISTANCE**2)

    def values(self, labels: Tensor, distances: Tensor, embeddings: Tensor) -> Tensor:
        if self.mining == "hard":
            return self._hard(labels, distances)
        if self.mining == "all":
            triplets = mining.all_triplets(distances, labels, self.margin)
        elif self.mining == "random":
            triplets = mining.random(distances, labels, self.margin, embeddings, self.seed)
        else:
            triplets = mining.semi_hard(distances, labels, self.margin, self.fallback is not None)
        weights, opened, counted = triplets
        sums = ops.sum(weights * distances, axis=1) + self.margin * opened
        return mean_of_terms(sums, counted)

    def _hard(self, labels, distances):
        near, away = mining.positives(labels), mining.negatives(labels)
        if self.fallback:
            near, away = mining.with_partners(distances, near, away)
        valid = ops.logical_and(ops.any(near, axis=1), ops.any(away, axis=1))
        farthest = ops.where(valid, mining.farthest(distances, near), 0)
        gap = farthest - ops.where(valid, mining.nearest(distances, away), 0)
        return ops.where(valid, ops.softplus(gap) if self.soft else ops.relu(gap + self.margin), 0)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "margin": self.margin,
            "mining": self.mining,
            "distance": distances.serialize(self.distance),
            "squared": self.squared,
            "soft": self.soft,
            "fallback": self.fallback,
            "seed": self.seed,
        }


def _check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {choices}. Received {name}={value!r}.")
