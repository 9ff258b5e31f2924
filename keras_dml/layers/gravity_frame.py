"""Layer that makes accelerations independent of the sensor's orientation."""

import numbers
from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import divide, mean, root, wide

HORIZONTAL = {"axes": 3, "magnitude": 2, "both": 4}  # number of output channels per sensor
AXES = 3  # of a sensor


@keras.saving.register_keras_serializable(package="keras_dml")
class GravityFrame(keras.layers.Layer):
    """Vertical and horizontal components of an accelerometer's signal, and optionally of a
    gyroscope's signal, independent of the orientation of the device.

    The layer estimates gravity by the mean acceleration of a recording (Mizell2003). The estimate
    is correct for repeated movements such as walking. The first output channel is the vertical
    acceleration minus gravity. `"magnitude"` adds one channel with the length of the horizontal
    acceleration vector. `"axes"` adds two horizontal channels: the acceleration along the principal
    axis, and the acceleration to the left of this axis. The principal axis is the direction of
    walking (Kunze2009). An axis has two directions. The layer chooses as forward the direction in
    which the horizontal acceleration lags behind the vertical acceleration. `"both"` adds the
    channels of `"axes"` and then the channel of `"magnitude"`. Rotating the sensor does not change
    any channel. Mirroring the sensor changes only the sign of the acceleration to the left.

    If the input has six channels, the last three channels are the angular rates x, y and z. The
    layer rotates the angular rates into the frame of the accelerations. The output then contains
    the channels of the accelerations, followed by the same channels of the angular rates. The
    vertical angular rate is not reduced by a mean.

    Input shape: `(batch, time, 3)` or `(batch, time, 6)`, with or without a Keras mask. The first
    three channels are the accelerations x, y and z including gravity, in any unit. The layer passes
    the mask on. Output shape: `(batch, time, channels)`, in the units of the input. For each
    sensor, the output has 3 channels for `"axes"`, 2 channels for `"magnitude"` and 4 channels for
    `"both"`. Invalid steps become 0. The layer computes in float32 or wider under any dtype policy.
    If a recording has no principal axis, for example because all accelerations are zero, the axis
    depends on the sensor's orientation.

    Args:
        horizontal: Channels for the horizontal acceleration: `"axes"`, `"magnitude"` or `"both"`.
        lag: Number of time steps by which the layer shifts the vertical acceleration against the
            horizontal acceleration to find the forward direction. The lag must be at least 1, and
            should be less than half the time between two footsteps.

    Raises:
        ValueError: If an argument is invalid, or if the input does not have three or six
            channels.

    Example:
        >>> x = np.array([[[3.0, 0.0, 10.0], [0.0, 0.0, 11.0], [-3.0, 0.0, 9.0]]])
        >>> GravityFrame("magnitude")(x).numpy().round(3) + 0
        array([[[ 0.,  3.],
                [ 1.,  0.],
                [-1.,  3.]]], dtype=float32)
    """

    def __init__(self, horizontal: str = "axes", lag: int = 1, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        if horizontal not in HORIZONTAL:
            raise ValueError(
                f"`horizontal` must be one of {tuple(HORIZONTAL)}. Received "
                f"horizontal={horizontal!r}."
            )
        if not (isinstance(lag, numbers.Integral) and lag >= 1):
            raise ValueError(f"`lag` must be a whole number of at least 1. Received lag={lag!r}.")
        self.horizontal, self.lag = horizontal, int(lag)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        if len(input_shape) != 3 or input_shape[-1] not in (AXES, 2 * AXES):
            raise ValueError(
                "GravityFrame needs x, y and z of one accelerometer, shape (batch, time, 3), or x, "
                "y and z of an accelerometer and of a gyroscope, shape (batch, time, 6). Received "
                f"shape {tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        x = ops.cast(inputs, wide(self.variable_dtype))
        valid = None if mask is None else ops.cast(mask, "bool")  # (batch, time)
        if valid is not None:
            x = ops.where(valid[..., None], x, 0)
        acceleration, *rates = (x[..., i : i + AXES] for i in range(0, x.shape[-1], AXES))
        gravity = mean(acceleration, 1, None if valid is None else valid[..., None], keepdims=True)
        size = _length(gravity)  # (batch, 1)
        up = divide(gravity, size[..., None])  # (batch, 1, 3)
        axes = _perpendicular(up)
        vertical = ops.sum(acceleration * up, axis=-1) - size  # (batch, time)
        across = [ops.sum(acceleration * axis, axis=-1) for axis in axes]
        forward = None
        if self.horizontal != "magnitude":
            forward = _principal_axis(*across, valid)
            lead = _lead(vertical, _along(forward, *across)[0], valid, self.lag)
            forward = [_sign(lead) * component for component in forward]
        channels = [vertical, *self._horizontal(forward, across)]
        for rate in rates:
            turning = [ops.sum(rate * axis, axis=-1) for axis in axes]
            channels += [ops.sum(rate * up, axis=-1), *self._horizontal(forward, turning)]
        output = ops.stack(channels, axis=-1)
        output = output if valid is None else ops.where(valid[..., None], output, 0)
        return ops.cast(output, self.compute_dtype)

    def _horizontal(self, forward, across):
        """Returns the horizontal output channels of a sensor, each of shape `(batch, time)`.

        Args:
            forward: Result of `_principal_axis`, or None for `"magnitude"`.
            across: Components of the signal along the two axes of `_perpendicular`.
        """
        channels = [] if forward is None else _along(forward, *across)
        if self.horizontal != "axes":
            channels.append(_length(ops.stack(across, axis=-1)))
        return channels

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return previous_mask

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        sensors = input_shape[-1] // AXES
        return (*input_shape[:-1], sensors * HORIZONTAL[self.horizontal])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "horizontal": self.horizontal, "lag": self.lag}


def _length(x):
    return root(ops.sum(x * x, axis=-1), 2)


def _sign(x):
    """Returns the signs of numbers as 1 or -1, never 0, without a gradient."""
    return ops.stop_gradient(ops.where(x < 0, -ops.ones_like(x), ops.ones_like(x)))


def _perpendicular(up):
    """Returns two unit vectors that complete a unit vector to a right-handed frame (Duff2017)."""
    x, y, z = (up[..., i : i + 1] for i in range(3))
    sign = _sign(z)
    a = -1 / (sign + z)
    b = x * y * a
    first = ops.concatenate([1 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = ops.concatenate([b, sign + y * y * a, -y], axis=-1)
    return first, second


def _principal_axis(x, y, valid):
    """Returns the cosine and the sine of the angle from the x axis to the direction in which two
    horizontal channels with mean 0, shape `(batch, time)`, have the largest variance. The cosine
    and the sine have shape `(batch, 1)`."""
    difference = mean(x * x - y * y, 1, valid, keepdims=True)  # (batch, 1)
    product = 2 * mean(x * y, 1, valid, keepdims=True)
    # half the angle of the vector (difference, product); the half-angle formulas are not used,
    # because they lose digits by cancellation
    long_side = root(difference * difference + product * product, 2) + ops.abs(difference)
    is_ahead = difference >= 0
    cosine = ops.where(is_ahead, long_side, ops.abs(product))
    sine = ops.where(is_ahead, product, _sign(product) * long_side)
    length = root(cosine * cosine + sine * sine, 2)
    return ops.where(length > 0, divide(cosine, length), 1), divide(sine, length)


def _along(direction, x, y):
    """Returns the components of two horizontal channels along a direction and to its left."""
    cosine, sine = direction
    return [cosine * x + sine * y, cosine * y - sine * x]


def _lead(vertical, forward, valid, lag):
    """Measures how strongly the forward channel follows the vertical channel in time. Returns a
    tensor of shape `(batch, 1)`.

    The measure is a difference of two covariances. The first covariance is between the vertical
    channel and the forward channel `lag` steps later. The subtracted covariance is between the
    forward channel and the vertical channel `lag` steps later.
    """
    difference = vertical[:, :-lag] * forward[:, lag:] - vertical[:, lag:] * forward[:, :-lag]
    if valid is not None:
        difference = ops.where(ops.logical_and(valid[:, lag:], valid[:, :-lag]), difference, 0)
    return ops.sum(difference, axis=1, keepdims=True)
