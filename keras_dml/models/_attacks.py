"""L-infinity attacks made while a network trains (Monteiro2020, section 4.1.1): FGSM and PGD.

Pure functions on keras.ops that trace into a compiled step. To measure how robust a network is,
take `keras_dml.evaluation.robustness`.
"""

from keras_dml._backend import keras, ops
from keras_dml._backend.gradients import value_and_gradient

BOUNDS = (0.0, 1.0)  # of the inputs; standardization is inside the model


def project(x, center, epsilon):
    """The nearest points within `epsilon` of the centers and within the bounds.

    Two boxes: the order of the clips is immaterial while the centers are inside the bounds.

    Args:
        x: Points, shape `(batch, ...)`.
        center: Centers, same shape, in [0, 1].
        epsilon: Greatest change of an entry, a number or a scalar tensor.
    """
    near = ops.minimum(ops.maximum(x, center - epsilon), center + epsilon)
    return ops.clip(near, *BOUNDS)


def direction(gradient):
    """Signs of a gradient; 0 where it is 0, infinite or not a number."""
    finite = ops.isfinite(gradient)
    return ops.sign(ops.where(finite, gradient, ops.zeros_like(gradient)))


def uniform_start(x, epsilon, seed=None):
    """A point drawn evenly from the ball, clipped to the bounds: where a restart of PGD begins.

    Args:
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        epsilon: Radius of the ball.
        seed: As of `keras.random.uniform`.
    """
    shift = keras.random.uniform(ops.shape(x), -1.0, 1.0, dtype=x.dtype, seed=seed)
    return ops.clip(x + epsilon * shift, *BOUNDS)


def pgd(loss, x, start, epsilon, step_size, steps):
    """Projected gradient ascent: `steps` times a step by the sign, back into the ball and bounds.

    One step from the inputs themselves, of size `epsilon`, is FGSM.

    Args:
        loss: Function of inputs that gives one value an example, shape `(batch,)`.
        x: Inputs, shape `(batch, ...)`, in [0, 1].
        start: Where to begin, shape as of `x`.
        epsilon: Greatest change of an entry, a number or a scalar tensor.
        step_size: Change of an entry by a step (alpha in Monteiro2020).
        steps: Number of steps.

    Returns:
        The last iterates, shape as of `x`, without a gradient.
    """

    def step(_, point):
        _, gradient = value_and_gradient(loss, point)
        return project(point + step_size * direction(gradient), x, epsilon)

    return ops.stop_gradient(ops.fori_loop(0, steps, step, start))
