"""Layer that computes covariance matrices of recordings."""

from typing import Any

from keras_dml import distances
from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry.signals.covariance import check_estimator, covariance
from keras_dml.layers.head import Head, full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class Covariance(Head, keras.layers.Layer):
    """Covariance matrix of the channels over the valid steps of each recording.

    Use this layer before `BiMap` if different people or actions have different correlations between
    channels. The unit of the signal matters, because `ReEig` raises eigenvalues to a fixed lower
    limit. So normalize the channels before this layer, or use the estimator `"trace_normalized"`.

    Input shape: `(batch, time, channels)` with any number of time steps, with or without a Keras
    mask. The masked steps may be anywhere in a recording. Output shape:
    `(batch, channels, channels)`. The output is in squared units of the input, and has the dtype
    float32 or wider under any dtype policy. In float32, the values of signals may have magnitudes
    from 1e-18 to 1e17. In this range, a change of the signal's unit, for example from tesla to raw
    counts, changes only the scale of the matrices. Signals with magnitudes below 1e-18 give entries
    of 0. Signals with magnitudes above 1e17 give entries that are not finite.

    If a recording has fewer valid steps than channels, the matrix is singular unless the estimator
    uses shrinkage. The matrix of a constant recording is zero. The matrix of a recording with fewer
    than two valid steps is NaN.

    Args:
        estimator: Estimator of the covariance. `"sample"` divides by N - 1. `"trace_normalized"`
            scales the matrix to trace 1, so that the matrix has no unit. `"oas"` (Chen2010) uses
            the formula of scikit-learn. `"ledoit_wolf"` is the estimator of Ledoit2004. `"oas"` and
            `"ledoit_wolf"` shrink the matrix toward a multiple of the identity. The shrinkage makes
            the estimates for short recordings more reliable.

    Raises:
        ValueError: If `estimator` is unknown, or if the input is not a sequence with a known number
            of channels.

    Example:
        >>> x = np.array([[[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]])
        >>> Covariance()(x)[0].numpy()
        array([[1., 2.],
               [2., 4.]], dtype=float32)
    """

    def __init__(
        self,
        estimator: str = "sample",
        *,
        dtype: str | keras.DTypePolicy | None = None,
        **kwargs: Any,
    ):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        check_estimator(estimator)
        self.estimator = estimator
        self.distance = distances.AffineInvariant()
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "Covariance needs recordings of a known number of channels, shape (batch, time, "
                f"channels). Received shape {tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        return covariance(inputs, mask, self.estimator)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return None

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        batch, _, channels = input_shape
        return (batch, channels, channels)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "estimator": self.estimator}
