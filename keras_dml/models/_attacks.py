"""L-infinity attacks for training, FGSM and PGD (Monteiro2020, section 4.1.1).

Pure functions on keras.ops that can be compiled into a step. `keras_dml.evaluation.robustness`
measures the robustness of a network.
"""

from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import value_and_gradient

BOUNDS = (0.0, 1.0)  # of the inputs; standardization is inside the model


def project(x, center, epsilon):
    """Projects points to the nearest points within `epsilon` of the centers and the bounds.

    The order of the two clips does not matter while the centers are inside the bounds.

    Args:
        x: Points, shape `(batch, ...)`.
        center: Centers, same shape, in [0, 1].
        epsilon: Largest change of an entry, a number or a scalar tensor.
    """
    near = ops.minimum(ops.maximum(x, center - epsilon), center + epsilon)
    return ops.clip(near, *BOUNDS)


def direction(gradient):
    """Computes the signs of a gradient; 0 for entries that are 0, infinite or NaN."""
    finite = ops.isfinite(gradient)
    return ops.sign(ops.where(finite, gradient, ops.zeros_like(gradient)))


def uniform_start(x, epsilon, seed=None):
    """Draws start points of PGD uniformly from the ball and clips them to the bounds.

    Args:
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        epsilon: Radius of the ball.
        seed: Same as in `keras.random.uniform`.
    """
    shift = keras.random.uniform(ops.shape(x), -1.0, 1.0, dtype=x.dtype, seed=seed)
    return ops.clip(x + epsilon * shift, *BOUNDS)


def pgd(loss, x, start, epsilon, step_size, steps):
    """Computes adversarial examples by projected gradient descent (PGD) on the negative loss.

    Each step moves the points by the sign of the gradient and projects them back into the ball and
    the bounds. One step of size `epsilon` from the inputs themselves is the fast gradient sign
    method (FGSM).

    Args:
        loss: Function of inputs that returns a value for each example, shape `(batch,)`.
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        start: Points where the attack begins, shape of `x`.
        epsilon: Largest change of an entry, a number or a scalar tensor.
        step_size: Change of an entry in a step (alpha in Monteiro2020).
        steps: Number of steps.

    Returns:
        The last iterates, shape of `x`, without a gradient.
    """

    def step(_, point):
        _, gradient = value_and_gradient(loss, point)
        return project(point + step_size * direction(gradient), x, epsilon)

    return ops.stop_gradient(ops.fori_loop(0, steps, step, start))
