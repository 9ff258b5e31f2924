"""Layer that makes joint positions independent of the position and the direction of the body."""

import numbers
from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import wide


@keras.saving.register_keras_serializable(package="keras_dml")
class CanonicalPose(keras.layers.Layer):
    """Joint positions relative to the root joint. The layer rotates the positions so that the line
    between the hips is parallel to the x axis in the first step.

    The layer removes a person's position in the laboratory and the direction in which the person
    faces, because position and direction would dominate a covariance. The layer rotates about the
    vertical axis y. At the first valid step, the line from the first to the second hip joint,
    projected to the floor, becomes the x axis.

    Input shape: `(batch, time, 3 * joints)`, with or without a Keras mask. The last axis holds the
    coordinates x, y and z of each joint, in any unit of length. The layer passes the mask on.
    Output shape: `(batch, time, 3 * joints)`. The output has the dtype float32 or wider under any
    dtype policy. The layer does not rotate a recording in which one hip joint lies exactly above
    the other hip joint.

    Args:
        root: Index of the root joint, which becomes the origin.
        hips: Indices of the left and the right hip joint.

    Raises:
        ValueError: If `root` and `hips` are not three valid indices of joints in the input.

    Example:
        >>> root, left, right = [5.0, 1.0, 5.0], [5.0, 1.0, 4.0], [5.0, 1.0, 6.0]
        >>> CanonicalPose(0, hips=(1, 2))(np.array([[root + left + right]])).numpy().round(3) + 0
        array([[[ 0.,  0.,  0., -1.,  0.,  0.,  1.,  0.,  0.]]], dtype=float32)
    """

    def __init__(self, root: int = 0, hips: tuple[int, int] = (1, 6), **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        joints = (root, *hips)
        whole = all(isinstance(joint, numbers.Integral) and joint >= 0 for joint in joints)
        if len(joints) != 3 or not whole or hips[0] == hips[1]:
            raise ValueError(
                "`root` must be the index of a joint, and `hips` must be two indices, all counted "
                "from 0. "
                f"Received root={root!r}, hips={hips!r}."
            )
        self.root, self.hips = int(root), tuple(int(joint) for joint in hips)
        self.supports_masking = True

    def build(self, input_shape: tuple[Any, ...]) -> None:
        needed = max(self.root, *self.hips) + 1
        channels = input_shape[-1]
        if len(input_shape) != 3 or channels is None or channels % 3 or channels < 3 * needed:
            raise ValueError(
                "CanonicalPose needs x, y and z of each joint, shape (batch, time, 3 * joints), "
                f"with at least {needed} joints. Received shape {tuple(input_shape)}."
            )

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, time, channels = ops.shape(inputs)
        positions = ops.cast(inputs, wide(self.variable_dtype))
        positions = ops.reshape(positions, (batch, time, channels // 3, 3))
        positions = positions - positions[:, :, self.root : self.root + 1]
        left, right = (positions[:, :, hip] for hip in self.hips)
        across = _first(right - left, mask)  # (batch, 3)
        x, z = across[:, 0, None, None], across[:, 2, None, None]
        length = ops.sqrt(x * x + z * z)
        is_directed = length > 0
        length = ops.where(is_directed, length, 1)
        cosine, sine = ops.where(is_directed, x / length, 1), z / length
        x, y, z = (positions[..., axis] for axis in range(3))
        rotated = (cosine * x + sine * z, y, cosine * z - sine * x)
        rotated = ops.reshape(ops.stack(rotated, axis=-1), (batch, time, channels))
        return ops.cast(rotated, self.compute_dtype)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        return previous_mask

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "root": self.root, "hips": self.hips}


def _first(x, mask):
    """Returns the first valid step of each recording. Maps `(batch, time, features)` to
    `(batch, features)`."""
    if mask is None:
        return x[:, 0]
    step = ops.argmax(ops.cast(mask, "int32"), axis=1)
    return ops.take_along_axis(x, ops.cast(step, "int32")[:, None, None], axis=1)[:, 0]
