"""Adversarial training of a classifier: each step first attacks its own batch."""

import random

import numpy as np

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, training
from keras_dml.losses.prototypes import known_ids
from keras_dml.models import _attacks
from keras_dml.models._adversarial_methods import METHODS
from keras_dml.models._checked_training import CheckedTraining
from keras_dml.models._choices import choose
from keras_dml.models._classifier_checks import refuse_weights
from keras_dml.models.prototypical_classifier import PrototypicalClassifier

SEEDS = 2**32  # number of seeds of a generator of Keras


@keras.saving.register_keras_serializable(package="keras_dml")
class AdversarialTraining(CheckedTraining, keras.Model):
    """Trains a `PrototypicalClassifier` on inputs that are attacked while it trains (Monteiro2020,
    section 4.1.1).

    A step computes adversarial examples of its batch by projected gradient ascent, from a random
    start within `epsilon`, with the classifier in inference mode, so that neither prototypes nor
    running statistics move; then it trains in one call on clean and adversarial inputs together.
    The result is `model.classifier`, which shares the weights. Compiled metrics are computed on
    what a step trains on, adversarial inputs included.

    Methods: `"prototypes"` is that of Monteiro2020, all three terms of the classifier, weighted by
    the `keras_dml.losses.PrototypicalLoss` that `compile` is given, on clean and adversarial inputs
    joined. It attacks the class and the auxiliary term together, so that both heads become robust.
    The others train the encoder and the auxiliary head only, and freeze the similarity: `"at"`
    (Madry2018) on adversarial inputs only, `"alp"`, `"tla"` and `"trades"` by the losses of
    `keras_dml.losses.robust`. To use what they trained, ask for `head="dol"`.

    `evaluate` and validation compute the terms of the method on clean inputs, without an attack;
    `keras_dml.evaluation.robustness` measures accuracy under attack.

    Inputs lie in [0, 1], labels are ids from 0. The model returns the scores that it trains: raw
    SIM scores for `"prototypes"`, else logits of the auxiliary head.

    Args:
        classifier: A `keras_dml.models.PrototypicalClassifier`, with `aux="softmax"` for all
            methods but `"prototypes"`.
        method: `"prototypes"`, `"at"`, `"alp"`, `"tla"` or `"trades"`.
        epsilon: Largest change of an input's entry, 0.3 for MNIST and 8/255 for CIFAR-10 in
            Monteiro2020.
        steps: Steps of the attack; 40 for MNIST in Monteiro2020, 10 for CIFAR-10.
        step_size: Change of an entry in a step; None: `2.5 epsilon / steps`.
        clean_fraction: Fraction of clean inputs that `"prototypes"` trains on, 0 to 0.5. Every
            input is attacked; below 0.5 fewer clean ones are joined, evenly spaced in the batch.
        ramp_steps: Training steps over which `epsilon` and `step_size` grow from near 0 to their
            values; training may fail to start at full strength.
        constants: Constants of the method's loss, keywords of its function in
            `keras_dml.losses.robust`; None: those of Monteiro2020, Table 1.
        seed: Seed of the random starts, from 0 to 2**32 - 1; None: drawn by Python's `random`, as
            in Keras.

    Raises:
        TypeError: If the classifier is not a `PrototypicalClassifier`.
        ValueError: If an argument is out of range, `constants` names one that the method does
            not have, or the method needs an auxiliary layer that the classifier does not have.

    Example:
        >>> encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
        >>> classifier = keras_dml.models.PrototypicalClassifier(encoder, classes=2, hidden=8)
        >>> model = keras_dml.models.AdversarialTraining(classifier, epsilon=0.1, steps=3, seed=0)
        >>> model.compile("sgd")
        >>> x = np.random.default_rng(0).random((6, 4), "float32")
        >>> history = model.fit(x, np.array([0, 0, 0, 1, 1, 1]), verbose=0)
        >>> model.classifier(x).shape
        TensorShape([6, 2])
    """

    def __init__(
        self,
        classifier,
        method="prototypes",
        *,
        epsilon,
        steps,
        step_size=None,
        clean_fraction=0.5,
        ramp_steps=0,
        constants=None,
        seed=None,
        name="adversarial_training",
        **kwargs,
    ):
        super().__init__(name=name, **kwargs)
        chosen = choose("method", method, METHODS)
        _check_attack(epsilon, steps, step_size, clean_fraction, ramp_steps)
        if seed is not None and whole("seed", seed, minimum=0) >= SEEDS:
            raise ValueError(f"`seed` must be from 0 to 2**32 - 1. Received seed={seed!r}.")
        _check_classifier(classifier)
        self._method = chosen(method, classifier, constants)
        self.classifier = classifier
        self.method = method
        self.epsilon, self.steps = float(epsilon), int(steps)
        self.step_size = 2.5 * self.epsilon / self.steps if step_size is None else float(step_size)
        self.clean_fraction, self.ramp_steps = float(clean_fraction), int(ramp_steps)
        self.constants = self._method.constants
        self.seed = seed
        self._first_seed = np.uint32(random.randrange(SEEDS) if seed is None else seed)
        self.seed_generator = keras.random.SeedGenerator(int(self._first_seed))
        # Keras does not collect metrics of nested models
        self._term_metrics = list(self._method.metrics)
        self.build(classifier.encoder.input_shape)

    def build(self, input_shape):
        self.steps_taken = self.add_weight(
            name="steps_taken", shape=(), dtype="int32", initializer="zeros", trainable=False
        )

    def call(self, inputs, training=False):
        embedding = self.classifier._encoded(inputs, training)
        return self._outputs(embedding, self._method.scores(embedding), training)

    def train_step(self, *arguments):
        """Attacks the batch, then takes the usual step on clean and adversarial inputs."""
        return super().train_step(*training.with_data(self, arguments, self._joined))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of the method; outside of training on clean inputs."""
        refuse_weights(self, sample_weight)
        if not isinstance(y_pred, dict):
            embedding = self.classifier._encoded(x, training)
            y_pred = {"embedding": embedding, "scores": y_pred}
        return self._method.loss(
            y,
            y_pred,
            loss=self.loss,
            penalties=self.losses,
            training=training,
            static=self.jit_compile,
        )

    def attack(self, x, y):
        """Adversarial twins of a batch, as the next training step would compute them.

        Args:
            x: Inputs, shape `(batch, ...)`, in [0, 1].
            y: Class ids, shape `(batch,)`.

        Returns:
            Inputs, same shape, without a gradient.

        Raises:
            ValueError: For a label that is not a class; a compiled step stops with an error of its
                backend.
        """
        x = ops.convert_to_tensor(x)
        labels, _ = known_ids(y, self.classifier._trained_classes)
        # from the step, which is saved; Keras does not save the state of a generator
        state = [ops.convert_to_tensor(self._first_seed), ops.cast(self.steps_taken, "uint32")]
        self.seed_generator.state.assign(ops.stack(state))
        epsilon, step_size = (self._ramp() * size for size in (self.epsilon, self.step_size))
        epsilon, step_size = ops.cast(epsilon, x.dtype), ops.cast(step_size, x.dtype)
        start = self._method.start(x, epsilon, self.seed_generator)
        loss = self._method.attacked_loss(x, labels)
        return _attacks.pgd(loss, x, start, epsilon, step_size, self.steps)

    def _ramp(self):
        """Fraction of epsilon in this step."""
        if not self.ramp_steps:
            return 1.0
        return ops.minimum((ops.cast(self.steps_taken, "float32") + 1) / self.ramp_steps, 1.0)

    def _joined(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        refuse_weights(self, sample_weight)
        adversarial = self.attack(x, y)
        self.steps_taken.assign_add(1)
        return self._method.joined(x, y, adversarial, self.clean_fraction)

    def _check_inputs(self, x):
        self.classifier._check_inputs(x)
        if isinstance(x, np.ndarray) and x.size and not 0 <= x.min() <= x.max() <= 1:
            raise ValueError(
                "`x` must hold inputs in [0, 1], where the attack stays. Received values from "
                f"{x.min():.3g} to {x.max():.3g}. Scale them, and let the encoder standardize."
            )

    def _check_targets(self, x, y, training):
        self.classifier._check_targets(x, y, training)

    def compute_output_shape(self, input_shape):
        return self.classifier.compute_output_shape(input_shape)

    def get_config(self):
        return {
            "name": self.name,
            "classifier": keras.saving.serialize_keras_object(self.classifier),
            "method": self.method,
            "epsilon": self.epsilon,
            "steps": self.steps,
            "step_size": self.step_size,
            "clean_fraction": self.clean_fraction,
            "ramp_steps": self.ramp_steps,
            "constants": self.constants,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        classifier = keras.saving.deserialize_keras_object(
            config["classifier"], custom_objects=custom_objects
        )
        return cls(**{**config, "classifier": classifier})


def _check_attack(epsilon, steps, step_size, clean_fraction, ramp_steps):
    if not 0 < epsilon <= 1:
        raise ValueError(
            f"`epsilon` must be above 0 and at most 1, since inputs lie in [0, 1]. Received "
            f"epsilon={epsilon!r}."
        )
    if int(steps) != steps or steps < 1:
        raise ValueError(f"`steps` must be a whole number of at least 1. Received steps={steps!r}.")
    if step_size is not None and not step_size > 0:
        raise ValueError(f"`step_size` must be above 0. Received step_size={step_size!r}.")
    if not 0 <= clean_fraction <= 0.5:
        raise ValueError(
            f"`clean_fraction` must be from 0 to 0.5, as every input is attacked. Received "
            f"clean_fraction={clean_fraction!r}."
        )
    if int(ramp_steps) != ramp_steps or ramp_steps < 0:
        raise ValueError(
            f"`ramp_steps` must be a whole number of at least 0. Received "
            f"ramp_steps={ramp_steps!r}."
        )


def _check_classifier(classifier):
    if not isinstance(classifier, PrototypicalClassifier):
        raise TypeError(
            "`classifier` must be a `keras_dml.models.PrototypicalClassifier`. Received "
            f"{type(classifier).__name__}. To train a plain network by AT, ALP, TLA or TRADES "
            "build one from its encoder: they train the encoder and the auxiliary head only."
        )
