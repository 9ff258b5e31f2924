"""Implements the attacks FGSM and PGD in the L-infinity norm for adversarial training
(Monteiro2020, section 4.1.1).

The functions are pure and use `keras.ops`, so they can be compiled into a training step.
`keras_dml.evaluation.robustness` measures the robustness of a trained network.
"""

from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import value_and_gradient

BOUNDS = (0.0, 1.0)  # range of the inputs, which the model itself standardizes


def project(x, center, epsilon):
    """Moves each point to the nearest point that is within `epsilon` of its center and in [0, 1].

    If the centers are in [0, 1], the order in which the two limits are enforced does not matter.

    Args:
        x: Points, shape `(batch, ...)`.
        center: Centers, same shape as `x`, in [0, 1].
        epsilon: Largest change of each entry, a number or a scalar tensor.
    """
    near = ops.minimum(ops.maximum(x, center - epsilon), center + epsilon)
    return ops.clip(near, *BOUNDS)


def direction(gradient):
    """Computes the sign of each entry of a gradient. Infinite and NaN entries become 0."""
    finite = ops.isfinite(gradient)
    return ops.sign(ops.where(finite, gradient, ops.zeros_like(gradient)))


def uniform_start(x, epsilon, seed=None):
    """Draws the start points of PGD uniformly from a ball around each input, and clips them to [0,
    1].

    Args:
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        epsilon: Radius of the ball in the L-infinity norm.
        seed: Seed, as in `keras.random.uniform`.
    """
    shift = keras.random.uniform(ops.shape(x), -1.0, 1.0, dtype=x.dtype, seed=seed)
    return ops.clip(x + epsilon * shift, *BOUNDS)


def pgd(loss, x, start, epsilon, step_size, steps):
    """Computes adversarial examples by projected gradient descent (PGD) on the negative loss.

    Each step moves the points by the sign of the gradient. The step then projects the points into
    the ball of radius `epsilon` around the inputs, and into [0, 1]. One step of size `epsilon` that
    starts at the inputs is the fast gradient sign method (FGSM).

    Args:
        loss: Function that takes inputs and returns the loss of each example, shape `(batch,)`.
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        start: Points where the attack begins, same shape as `x`.
        epsilon: Largest change of each entry, a number or a scalar tensor.
        step_size: Change of each entry in one step (alpha in Monteiro2020).
        steps: Number of steps of the attack.

    Returns:
        Adversarial examples, same shape as `x`, without a gradient.
    """

    def step(_, point):
        _, gradient = value_and_gradient(loss, point)
        return project(point + step_size * direction(gradient), x, epsilon)

    return ops.stop_gradient(ops.fori_loop(0, steps, step, start))
