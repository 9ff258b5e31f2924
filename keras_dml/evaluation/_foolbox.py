"""Foolbox's projected gradient ascent on a Keras network, on TensorFlow and JAX.

Steps, projection and bounds are Foolbox's. The gradient is compiled, entries that are not
finite count as 0, and the start is drawn from a given generator.
"""

from __future__ import annotations

import warnings

import eagerpy
import numpy as np

from keras_dml._backend import ops

with warnings.catch_warnings():  # one of its other attacks imports an old name of SciPy's
    warnings.simplefilter("ignore", DeprecationWarning)
    import foolbox


class Bounded(foolbox.models.base.Model):
    """A network as Foolbox calls it, with the bounds of its inputs."""

    bounds = foolbox.types.Bounds(0.0, 1.0)

    def __init__(self, network):
        self.network = network

    def __call__(self, inputs):
        x, restore = eagerpy.astensor_(inputs)
        return restore(eagerpy.astensor(self.network.logits(x.raw)))


class Ascent(foolbox.attacks.LinfProjectedGradientDescentAttack):
    """L-infinity PGD of Foolbox; one step from the inputs themselves is its FGSM.

    Args:
        gradient: Function of inputs and labels that gives values, their gradient in the inputs, and
            how many entries of it were not finite.
        steps: Number of steps.
        step_size: Change of an entry by a step.
        rng: NumPy generator of the start; None starts from the inputs.
    """

    def __init__(self, gradient, steps, step_size, rng):
        super().__init__(abs_stepsize=step_size, steps=steps, random_start=rng is not None)
        self.gradient, self.rng = gradient, rng
        self.not_finite = 0

    def get_loss_fn(self, model, labels):
        return lambda x: self.gradient(x.raw, labels.raw)

    def value_and_grad(self, loss_fn, x):
        values, gradient, not_finite = loss_fn(x)
        self.not_finite += not_finite
        return eagerpy.astensor(values), eagerpy.astensor(gradient)

    def get_random_start(self, x0, epsilon):
        shift = self.rng.uniform(-epsilon, epsilon, size=x0.shape).astype(np.float32)
        return x0 + eagerpy.astensor(ops.convert_to_tensor(shift))


def ascend(network, gradient, x, y, *, epsilon, steps, step_size, rng):
    """Adversarial examples, and the number of gradient entries that were not finite.

    Args:
        network: Network with a method `logits(x)`.
        gradient, steps, step_size, rng: See `Ascent`.
        x: Inputs, shape `(count, ...)`, float32 in [0, 1].
        y: Class ids, shape `(count,)`.
        epsilon: Largest change of an entry.
    """
    attack = Ascent(gradient, steps, step_size, rng)
    labels = ops.convert_to_tensor(np.asarray(y, np.int32))
    adversarial = attack.run(Bounded(network), ops.convert_to_tensor(x), labels, epsilon=epsilon)
    return np.asarray(adversarial), attack.not_finite
