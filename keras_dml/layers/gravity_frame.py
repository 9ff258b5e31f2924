"""Acceleration in the frame of gravity and walking, however the sensor lies."""

import numbers

from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import divide, mean, root, wide

HORIZONTAL = {"axes": 3, "magnitude": 2, "both": 4}  # channels of the output


@keras.saving.register_keras_serializable(package="keras_dml")
class GravityFrame(keras.layers.Layer):
    """Acceleration along gravity and across it: the same however the sensor lies in the pocket.

    The mean of a recording is taken for gravity (Mizell2003): right for movements that come back to
    where they began, such as steps. The first channel is the acceleration along it, less gravity.
    `"magnitude"` adds the length of what remains, which is horizontal. `"axes"` adds two horizontal
    channels: along the principal axis, which is that of walking (Kunze2009), and to the left of it.
    Which way along the axis is forward a principal axis does not tell; here it is the way in which
    the vertical acceleration is ahead of the horizontal one. `"both"` has the axes, then the
    magnitude. A rotation of the sensor changes none of them; a mirror image changes the sign of
    that to the left.

    Input shape: `(batch, time, 3)`, x, y and z of an accelerometer with gravity, in any unit, with
    or without a Keras mask, which passes on. Output shape: `(batch, time, channels)`, 3 for
    `"axes"`, 2 for `"magnitude"`, 4 for `"both"`, in the same unit; steps that are not valid become
    0. Computed in float32 or wider under any policy. Where no direction stands out, as in a
    recording of zeros, one is taken that depends on how the sensor lies.

    Args:
        horizontal: `"axes"`, `"magnitude"` or `"both"`.
        lag: Steps by which the vertical acceleration is compared with the horizontal one, at least
            1: less than half the time between two steps of a person.

    Raises:
        ValueError: If an argument is none of these, or the input has not three channels.

    Example:
        >>> x = np.array([[[3.0, 0.0, 10.0], [0.0, 0.0, 11.0], [-3.0, 0.0, 9.0]]])
        >>> GravityFrame("magnitude")(x).numpy().round(3) + 0
        array([[[ 0.,  3.],
                [ 1.,  0.],
                [-1.,  3.]]], dtype=float32)
    """

    def __init__(self, horizontal="axes", lag=1, **kwargs):
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

    def build(self, input_shape):
        if len(input_shape) != 3 or input_shape[-1] != 3:
            raise ValueError(
                "GravityFrame needs x, y and z of one accelerometer, shape (batch, time, 3). "
                f"Received shape {tuple(input_shape)}."
            )

    def call(self, inputs, mask=None):
        x = ops.cast(inputs, wide(self.variable_dtype))
        valid = None if mask is None else ops.cast(mask, "bool")  # (batch, time)
        if valid is not None:
            x = ops.where(valid[..., None], x, 0)
        gravity = mean(x, 1, None if valid is None else valid[..., None], keepdims=True)
        size = _length(gravity)  # (batch, 1)
        up = divide(gravity, size[..., None])  # (batch, 1, 3)
        vertical = ops.sum(x * up, axis=-1) - size  # (batch, time)
        across = [ops.sum(x * axis, axis=-1) for axis in _perpendicular(up)]
        channels = [vertical]
        if self.horizontal != "magnitude":
            forward, left = _along_principal_axis(*across, valid)
            sign = _sign(_lead(vertical, forward, valid, self.lag))
            channels += [sign * forward, sign * left]
        if self.horizontal != "axes":
            channels.append(_length(ops.stack(across, axis=-1)))
        found = ops.stack(channels, axis=-1)
        found = found if valid is None else ops.where(valid[..., None], found, 0)
        return ops.cast(found, self.compute_dtype)

    def compute_mask(self, inputs, previous_mask=None):
        return previous_mask

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], HORIZONTAL[self.horizontal])

    def get_config(self):
        return {**super().get_config(), "horizontal": self.horizontal, "lag": self.lag}


def _length(x):
    return root(ops.sum(x * x, axis=-1), 2)


def _sign(x):
    """1 or -1, never 0, and without a gradient."""
    return ops.stop_gradient(ops.where(x < 0, -ops.ones_like(x), ops.ones_like(x)))


def _perpendicular(up):
    """Two unit vectors that make a right-handed frame with a unit vector (Duff2017)."""
    x, y, z = (up[..., i : i + 1] for i in range(3))
    sign = _sign(z)
    a = -1 / (sign + z)
    b = x * y * a
    first = ops.concatenate([1 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = ops.concatenate([b, sign + y * y * a, -y], axis=-1)
    return first, second


def _along_principal_axis(x, y, valid):
    """Two horizontal channels of mean 0, turned so that the first varies most; `(batch, time)`."""
    gap = mean(x * x - y * y, 1, valid, keepdims=True)  # (batch, 1)
    both = 2 * mean(x * y, 1, valid, keepdims=True)
    # the half of the angle of (gap, both), without the cancellation of the half-angle formulas
    far = root(gap * gap + both * both, 2) + ops.abs(gap)
    ahead = gap >= 0
    cosine, sine = ops.where(ahead, far, ops.abs(both)), ops.where(ahead, both, _sign(both) * far)
    length = root(cosine * cosine + sine * sine, 2)
    cosine, sine = ops.where(length > 0, divide(cosine, length), 1), divide(sine, length)
    return cosine * x + sine * y, cosine * y - sine * x


def _lead(vertical, forward, valid, lag):
    """How far the vertical channel is ahead of the forward one: their lagged covariance less that
    in the other order, shape `(batch, 1)`."""
    difference = vertical[:, :-lag] * forward[:, lag:] - vertical[:, lag:] * forward[:, :-lag]
    if valid is not None:
        difference = ops.where(ops.logical_and(valid[:, lag:], valid[:, :-lag]), difference, 0)
    return ops.sum(difference, axis=1, keepdims=True)
