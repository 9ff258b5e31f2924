"""Layer that computes a learned similarity of two embeddings by a perceptron."""

import numbers
from collections.abc import Sequence
from typing import Any

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml._backend.random import random_bytes
from keras_dml._typing import Tensor
from keras_dml.geometry import similarity, vector
from keras_dml.layers.head import full_precision

SYMMETRIES = ("none", "max", "mean", "absdiff")


@keras.saving.register_keras_serializable(package="keras_dml")
class LearnedSimilarity(keras.layers.Layer):
    """Learned similarity S(x, y) between two sets of embeddings. A perceptron computes S for each
    pair from the concatenation `[x; y]` (Monteiro2020, Eq. 1).

    S is unbounded, and a higher value means more similar. S is not symmetric. S(x, x) is not
    necessarily the largest value. The first argument x is an example or a query. The second
    argument y is a prototype or an enrolled embedding. After training with the pair term of
    Monteiro2020, S is the log likelihood ratio of two hypotheses: x and y are from the same class,
    or x and y are from different classes. S is 0 if the two hypotheses are equally likely.

    To save memory, the layer does not store the concatenated pairs. In the forward and the backward
    pass, the layer computes hidden units for only one block of rows in `y` at a time.

    Input shapes: `(n, features)` and `(m, features)`. Output shape: `(n, m)`. The output has the
    dtype float32 or wider under any dtype policy.

    Args:
        hidden: Widths of the hidden layers.
        slope: Slope of the leaky rectifiers for negative numbers, from 0 to 1.
        dropout: Fraction of units that training drops in the last hidden layer. The layer rounds
            the fraction to a multiple of 1/256. The layer draws the dropped units separately for
            each pair.
        symmetry: Rule that makes the similarity symmetric. `"none"` returns S(x, y). `"max"` and
            `"mean"` return the maximum and the mean of S(x, y) and S(y, x). `"absdiff"` uses a
            perceptron that takes `|x - y|` (Koch2015).
        normalize: Whether the layer first scales embeddings to length 1.

    Raises:
        ValueError: If an argument is out of range, or if the inputs are not vectors of equal width.

    Example:
        >>> layer = LearnedSimilarity(hidden=(2,), dropout=0.0)
        >>> x = np.eye(2, dtype="float32")
        >>> layer(x, np.ones((3, 2), "float32")).shape
        TensorShape([2, 3])
    """

    def __init__(
        self,
        hidden: int | Sequence[int] = (512,),
        *,
        slope: float = 0.1,
        dropout: float = 0.25,
        symmetry: str = "none",
        normalize: bool = False,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        self.hidden = _widths(hidden)
        self.slope = _fraction("slope", slope, closed=True)
        self.dropout = _fraction("dropout", dropout, closed=False)
        if symmetry not in SYMMETRIES:
            raise ValueError(
                f"`symmetry` must be one of {SYMMETRIES}. Received symmetry={symmetry!r}."
            )
        self.symmetry = symmetry
        self.normalize = bool(normalize)
        self.seed_generator = keras.random.SeedGenerator() if self.dropout else None

    def build(self, x_shape: tuple[Any, ...], y_shape: tuple[Any, ...]) -> None:
        self._check(x_shape, y_shape, x_shape[-1])
        self.features = x_shape[1]
        features = self.features if self.symmetry == "absdiff" else 2 * self.features
        widths = (features, *self.hidden, 1)
        self.kernels, self.biases = [], []
        for i, (inputs, outputs) in enumerate(zip(widths, widths[1:], strict=False)):
            kernel = self.add_weight(
                name=f"kernel_{i}", shape=(inputs, outputs), initializer="glorot_uniform"
            )
            self.kernels.append(kernel)
            self.biases.append(
                self.add_weight(name=f"bias_{i}", shape=(outputs,), initializer="zeros")
            )

    def call(self, x: Tensor, y: Tensor, training: bool | None = None) -> Tensor:
        self._check(x.shape, y.shape)
        if self.normalize:
            x, y = vector.unit(x), vector.unit(y)
        perceptron = similarity.Perceptron(
            tuple(map(ops.convert_to_tensor, self.kernels)),
            tuple(map(ops.convert_to_tensor, self.biases)),
            self.slope,
        )
        drop = self._drop(training)
        if drop is not None:  # the last kernel rescales the kept units, once for all pairs
            *kernels, last = perceptron.kernels
            scaled = last / keep_fraction(self.dropout)
            perceptron = perceptron._replace(kernels=(*kernels, scaled))

        def similarities(function):
            if drop is None:
                return similarity.compiled(function, x, y, perceptron)
            max_bytes = similarity.DROPPED_BYTES
            return function(x, y, perceptron, drop=drop, max_bytes=max_bytes)

        if self.symmetry == "absdiff":
            return similarities(similarity.absolute_difference)
        straight = similarities(similarity.concatenation)
        if self.symmetry == "none":
            return straight
        swapped = similarities(similarity.concatenation_swapped)
        if self.symmetry == "max":
            return ops.maximum(straight, swapped)
        return (straight + swapped) / 2

    def _check(self, x_shape, y_shape, features=None):
        features = features or self.features
        for shape in (x_shape, y_shape):
            if len(shape) != 2 or shape[1] is None or shape[1] != features:
                raise ValueError(
                    "LearnedSimilarity compares vectors of the same known width, shapes (n, "
                    f"{features or 'features'}) and (m, {features or 'features'}). Received shapes "
                    f"{tuple(x_shape)} and {tuple(y_shape)}."
                )

    @property
    def distance(self) -> distances.Distance:
        """Distance `d(x, y) = -S(x, y)` between embeddings."""
        return distances.NegativeSimilarity(self)

    def _drop(self, training):
        """Returns the dropout function for one call, or None if the call uses no dropout. The
        function draws a mask for each block."""
        if not training or not self.dropout:
            return None
        seed = self.seed_generator.next()

        def drop(units, block):
            # The generator changes the second number of the seed at each call of the layer. The
            # next line changes the first number of the seed for each block.
            number = ops.cast(ops.stack([block, 0]), seed.dtype)
            is_kept = keep_mask(ops.shape(units), self.dropout, seed + number)
            return ops.where(is_kept, units, 0)

        return drop

    def compute_output_shape(
        self, x_shape: tuple[Any, ...], y_shape: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        return (x_shape[0], y_shape[0])

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "hidden": self.hidden,
            "slope": self.slope,
            "dropout": self.dropout,
            "symmetry": self.symmetry,
            "normalize": self.normalize,
        }


def _widths(hidden):
    hidden = [hidden] if isinstance(hidden, numbers.Number) else list(hidden)
    if not hidden or any(not isinstance(h, numbers.Integral) or h < 1 for h in hidden):
        raise ValueError(
            "`hidden` must hold the width of each hidden layer. At least one width is needed, and "
            f"each width must be a whole number of at least 1. Received hidden={hidden!r}."
        )
    return [int(width) for width in hidden]


def _fraction(name, value, *, closed):
    if not isinstance(value, numbers.Real) or not (0 <= value < 1 or (closed and value == 1)):
        limits = "from 0 to 1" if closed else "of at least 0 and below 1"
        raise ValueError(f"`{name}` must be a number {limits}. Received {name}={value!r}.")
    return float(value)


def keep_mask(shape: Sequence[Any], rate: float, seed: Tensor) -> Tensor:
    """Draws a boolean tensor that is True for the units that dropout keeps.

    The function draws only as many random bits as the rate needs. Keras draws four random bytes per
    unit. Drawing four bytes per unit would take longer than the rest of the learned similarity's
    training step. For example, a rate of 1/4 needs two bits per unit. TensorFlow then draws two
    bits per unit, and JAX draws one byte per unit.

    Args:
        shape: Shape of the mask, as whole numbers. On TensorFlow, the sizes may also be scalar
            tensors.
        rate: Fraction of units to drop. The function rounds the rate to a multiple of 1/256, from
            1/256 to 255/256.
        seed: Seed, a tensor of shape `(2,)`. Equal seeds give equal masks.
    """
    dropped, bits = _odds(rate)
    return random_bytes(shape, bits, seed) >= ops.cast(dropped, "uint8")


def keep_fraction(rate: float) -> float:
    """Returns the fraction of the units that `keep_mask` keeps on average."""
    dropped, bits = _odds(rate)
    return 1 - dropped / 2**bits


def _odds(rate):
    """Returns `(dropped, bits)`. On average, `dropped` of every `2 ** bits` units are dropped.
    `bits` is 1, 2, 4 or 8."""
    dropped, bits = min(max(round(256 * rate), 1), 255), 8
    while bits > 1 and dropped % 2 ** (bits // 2) == 0:
        bits //= 2
        dropped //= 2**bits
    return dropped, bits
