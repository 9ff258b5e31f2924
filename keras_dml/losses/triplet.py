"""Triplet loss with all, random, semi-hard or hard mining."""

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
    """Triplet loss, which pulls each anchor closer to positives than to negatives by a margin
    (Schroff2015; Hermans2017; Kim2020, Eq. 1).

    A triplet adds `max(d_ap - d_an + margin, 0)`. `mining` selects the triplets:

    - `"all"` (batch all): every triplet. The mean is over all triplets, including those that add 0.
    - `"random"`: each pair of anchor and positive with one negative, drawn uniformly. The mean is
      over these pairs.
    - `"semi_hard"`: each pair of anchor and positive with the nearest negative that is farther than
      the positive by less than the margin. The mean is over pairs with such a negative.
    - `"hard"` (batch hard, hard mining): each anchor with its farthest positive and its nearest
      negative. The mean is over anchors.

    Labels are class ids, shape `(batch,)`. Predictions are embeddings that `distance` takes. With
    the default reduction the loss is the mean. `keras_dml.samplers.PKSampler` draws batches with
    positives.

    The random draw has no state, because it is a hash of `seed` and the embeddings. It changes in
    each training step because embeddings change, and is reproducible for equal batches and weights.

    Args:
        margin: Margin, in units of the distance, or of its square if squares are compared.
        mining: `"all"`, `"random"`, `"semi_hard"` or `"hard"`.
        distance: Name of a distance or an object `d(x, y) -> (n, m)`.
        squared: Whether to compare squares of the distance. None: squares except for `"hard"`, as
            in the papers.
        soft: With `"hard"`: `softplus(d_ap - d_an)` instead of the hinge, without a margin.
        fallback: `"farthest"` replaces missing partners as TensorFlow Addons does. `"semi_hard"`
            then has no upper bound, and takes the farthest negative if no negative is farther than
            the positive. `"hard"` takes the farthest row instead of a missing negative. The anchor
            itself replaces a missing positive (`"hard"`), and a missing negative in a batch of one
            class (`"semi_hard"`). None: pairs and anchors without partners add 0.
        seed: Seed of `"random"`, an integer from 0 to 2**32 - 1.
        name: Name of the loss.
        dtype: See `keras.losses.Loss`; widened to float32.
        **kwargs: See `reduction` of `keras.losses.Loss`.

    Raises:
        TypeError, ValueError: If the margin is not a finite number, an option is unknown or does
            not apply to the mining, or the distance does not take the predictions; in an eager
            call, if a label is not an id.

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
        distance: distances.Distance | str | Callable = "euclidean",
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
            raise ValueError(f'`soft` belongs to mining="hard". Received mining={mining!r}.')
        if fallback and mining not in ("semi_hard", "hard"):
            raise ValueError(
                '`fallback` belongs to mining="semi_hard" and mining="hard". Received '
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
                f"Received the distance {self.distance.name}, which may be negative, so that its "
                "squares have another order. Pass `squared=False`."
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
