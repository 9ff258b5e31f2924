"""Adversarial training of a classifier: each step first attacks its own batch."""

import random

import numpy as np

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, training
from keras_dml._backend.replicas import share
from keras_dml.losses import robust
from keras_dml.losses.prototypes import additive_margin, known_ids
from keras_dml.models import _attacks
from keras_dml.models._choices import choose
from keras_dml.models.prototypical_classifier import PrototypicalClassifier

PROTOTYPES = "prototypes"
METHODS = {  # constants of each, as in Monteiro2020, Table 1
    PROTOTYPES: {},
    "at": {},
    "alp": {"weight": 0.5},
    "tla": {"weight": 0.5, "margin": 0.05, "norm_weight": 1e-4},
    "trades": {"beta": 6.0},
}
SEEDS = 2**32  # of a generator of Keras
TRADES_START = 1e-3  # deviation of its start: at the inputs themselves the divergence is flat


@keras.saving.register_keras_serializable(package="keras_dml")
class AdversarialTraining(keras.Model):
    """Trains a `PrototypicalClassifier` on inputs that are attacked while it trains (Monteiro2020,
    section 4.1.1).

    A step makes adversarial twins of its batch by projected gradient ascent, from a random start
    within `epsilon`, with the classifier in inference mode, so that neither prototypes nor running
    statistics move; then it trains in one call on clean and adversarial inputs together. The
    result is `model.classifier`, which shares the weights. Metrics of `compile` see what a step
    trains on, adversarial inputs among it; `evaluate` is on clean inputs.

    Methods: `"prototypes"` is that of Monteiro2020, all three terms of the classifier, weighted by
    the `keras_dml.losses.PrototypicalLoss` that `compile` is given, on clean and adversarial inputs
    joined; attacked through the class and the auxiliary term so that neither head is spared. The
    others train the encoder and the auxiliary head alone, and freeze the similarity: `"at"`
    (Madry2018) on adversarial inputs only, `"alp"`, `"tla"` and `"trades"` by the losses of
    `keras_dml.losses.robust`. To use what they trained, ask for `head="dol"`.

    On a processor compile it with `jit_compile=False`: TensorFlow's XLA, which Keras takes by
    default, is slow at convolutions there (`thresholding_cnn`, 128 images a batch, ten attack
    steps, one thread: 3.9 s a training step in place of 0.5).

    Inputs lie in [0, 1], labels are ids from 0. The model itself answers as it is trained: raw SIM
    scores for `"prototypes"`, else logits of the auxiliary head.

    Args:
        classifier: A `keras_dml.models.PrototypicalClassifier`, with `aux="softmax"` for all
            methods but `"prototypes"`.
        method: `"prototypes"`, `"at"`, `"alp"`, `"tla"` or `"trades"`.
        epsilon: Greatest change of an input's entry, 0.3 for MNIST and 8/255 for CIFAR-10 in
            Monteiro2020.
        steps: Of the attack; 40 for MNIST in Monteiro2020, 10 for CIFAR-10.
        step_size: Change of an entry by a step; None: `2.5 epsilon / steps`.
        clean_fraction: Share of clean inputs in what `"prototypes"` trains on, 0 to 0.5. Every
            input is attacked; below 0.5 fewer clean ones are joined, drawn evenly from the batch.
        ramp_steps: Training steps over which `epsilon` and `step_size` grow from near 0 to
            theirs; a network that starts on the full attack may learn nothing.
        constants: Of the method's loss, as keywords of its function in `keras_dml.losses.robust`;
            None: those of Monteiro2020, Table 1.
        seed: Of the random starts, from 0 to 2**32 - 1; None: drawn by Python's `random`, as Keras
            does.

    Raises:
        TypeError: If the classifier is no `PrototypicalClassifier`.
        ValueError: If an argument is out of its range, `constants` names one that the method has
            not, or the method needs an auxiliary layer that the classifier has not.

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
        method=PROTOTYPES,
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
        defaults = choose("method", method, METHODS)
        _check_attack(epsilon, steps, step_size, clean_fraction, ramp_steps)
        if seed is not None and whole("seed", seed, least=0) >= SEEDS:
            raise ValueError(f"`seed` must be from 0 to 2**32 - 1. Received seed={seed!r}.")
        _check_classifier(classifier, method)
        unknown = set(constants or {}) - set(defaults)
        if unknown:
            raise ValueError(
                f"`constants` of method {method!r} are {tuple(defaults)}. Received "
                f"{sorted(unknown)}."
            )
        self.classifier = classifier
        self.method = method
        self.epsilon, self.steps = float(epsilon), int(steps)
        self.step_size = 2.5 * self.epsilon / self.steps if step_size is None else float(step_size)
        self.clean_fraction, self.ramp_steps = float(clean_fraction), int(ramp_steps)
        self.constants = {**defaults, **(constants or {})}
        self.seed = seed
        self._first_seed = np.uint32(random.randrange(SEEDS) if seed is None else seed)
        self.seed_generator = keras.random.SeedGenerator(int(self._first_seed))
        if method == PROTOTYPES:
            self._told = list(classifier._told)  # Keras passes over the metrics of inner models
        else:
            classifier.prototypes_layer.trainable = False
        self.build(classifier.encoder.input_shape)

    def build(self, input_shape):
        self.steps_taken = self.add_weight(
            name="steps_taken", shape=(), dtype="int32", initializer="zeros", trainable=False
        )

    def call(self, inputs, training=False):
        if self.method == PROTOTYPES:
            return self.classifier(inputs, training=training)
        embedding = self.classifier.encoder(inputs, training=training)
        logits = self.classifier.aux_head(embedding)
        return {"embedding": embedding, "scores": logits} if training else logits

    def fit(self, x=None, y=None, *others, **kwargs):
        """As of `keras.Model`; arrays are checked before the first step.

        Raises:
            TypeError: As `PrototypicalClassifier.fit`.
            ValueError: As `PrototypicalClassifier.fit`, and for inputs that leave [0, 1].
        """
        self.classifier._check_arrays(x, y)
        if isinstance(x, np.ndarray) and x.size and not 0 <= x.min() <= x.max() <= 1:
            raise ValueError(
                "`x` must hold inputs in [0, 1], where the attack stays. Received values from "
                f"{x.min():.3g} to {x.max():.3g}. Scale them, and let the encoder standardize."
            )
        return super().fit(x, y, *others, **kwargs)

    def train_step(self, *arguments):
        """Attacks the batch, then takes the usual step on what it joined."""
        return super().train_step(*training.with_data(self, arguments, self._joined))

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The classifier's own loss, or that of the method; outside of training on clean inputs."""
        if self.method == PROTOTYPES:
            self.classifier.loss = self.loss
            return self.classifier.compute_loss(x, y, y_pred, sample_weight, training=training)
        if self.loss is not None:
            raise ValueError(
                f"Method {self.method!r} is its own loss: `compile(optimizer)`. Received "
                f"loss={self.loss!r}."
            )
        labels, valid = known_ids(y, self.classifier.prototypes_layer.classes)
        values = self._values(labels, y_pred) if training else robust.cross_entropy(labels, y_pred)
        mean = ops.sum(values) / ops.cast(ops.shape(values)[0], values.dtype)
        return share(ops.where(valid, mean, float("nan")))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        scores = y_pred["scores"] if isinstance(y_pred, dict) else y_pred
        return super().compute_metrics(x, y, scores, sample_weight)

    def attack(self, x, y):
        """Adversarial twins of a batch, as the next training step would make them.

        Args:
            x: Inputs, shape `(batch, ...)`, in [0, 1].
            y: Class ids, shape `(batch,)`.

        Returns:
            Inputs, same shape, without a gradient.

        Raises:
            ValueError: In an eager call for a label that is no class; in a compiled step it is
                attacked as class 0, and the loss is NaN.
        """
        x = ops.convert_to_tensor(x)
        labels, _ = known_ids(y, self.classifier.prototypes_layer.classes)
        # by the step, which is saved; Keras does not save the state of a generator
        place = [ops.convert_to_tensor(self._first_seed), ops.cast(self.steps_taken, "uint32")]
        self.seed_generator.state.assign(ops.stack(place))
        epsilon, step_size = (self._ramp() * size for size in (self.epsilon, self.step_size))
        epsilon, step_size = ops.cast(epsilon, x.dtype), ops.cast(step_size, x.dtype)
        if self.method == "trades":
            noise = keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator)
            start = _attacks.project(x + TRADES_START * noise, x, epsilon)
        else:
            start = _attacks.uniform_start(x, epsilon, self.seed_generator)
        loss = self._attacked_loss(x, labels)
        return _attacks.pgd(loss, x, start, epsilon, step_size, self.steps)

    def _attacked_loss(self, x, labels):
        """What the attack raises, a function of inputs with one value an example."""
        if self.method == "trades":
            clean = ops.stop_gradient(self(x, training=False))
            return lambda point: robust.kl_divergence(clean, self(point, training=False))
        return lambda point: self._terms(point, labels)

    def _terms(self, point, labels):
        """Cross-entropies of the heads that are trained, in inference mode, encoded once."""
        if self.method != PROTOTYPES:
            return robust.cross_entropy(labels, self(point, training=False))
        classifier = self.classifier
        embedding = classifier.embed(point)
        values = robust.cross_entropy(labels, classifier.head_scores(embedding, "sim"))
        if classifier.aux is None:
            return values
        logits = classifier.head_scores(embedding, "dol")
        if classifier.aux == "am":
            logits = additive_margin(logits, labels)
        return values + robust.cross_entropy(labels, logits)

    def _values(self, labels, y_pred):
        """The method's loss of what `_joined` made, a value an input."""
        if self.method == "at":
            return robust.cross_entropy(labels, y_pred["scores"])
        labels, _ = ops.split(labels, 2)
        clean, adversarial = ops.split(y_pred["scores"], 2)
        if self.method == "tla":
            embeddings = ops.split(y_pred["embedding"], 2)
            return robust.tla(labels, *embeddings, adversarial, **self.constants)
        loss = {"alp": robust.alp, "trades": robust.trades}[self.method]
        return loss(labels, clean, adversarial, **self.constants)

    def _ramp(self):
        """Share of epsilon that this step takes."""
        if not self.ramp_steps:
            return 1.0
        return ops.minimum((ops.cast(self.steps_taken, "float32") + 1) / self.ramp_steps, 1.0)

    def _joined(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        if sample_weight is not None:
            raise ValueError(
                "AdversarialTraining takes no sample weights: its losses have none. Received them "
                "of `fit` or of the data; leave them out."
            )
        adversarial = self.attack(x, y)
        self.steps_taken.assign_add(1)
        prototypes = self.method == PROTOTYPES
        if self.method == "at" or (prototypes and not self.clean_fraction):
            return adversarial, y
        x, clean_y = ops.cast(x, adversarial.dtype), y
        if prototypes and self.clean_fraction < 0.5:
            rows = _evenly(ops.shape(x)[0], self.clean_fraction / (1 - self.clean_fraction))
            x, clean_y = ops.take(x, rows, axis=0), ops.take(y, rows, axis=0)
        return ops.concatenate([x, adversarial]), ops.concatenate([clean_y, y])

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


def _evenly(rows, share):
    """Rows of a batch, `share` of them, evenly spaced: batches may be sorted by class."""
    if isinstance(rows, int):
        count = max(1, round(rows * share))
    else:  # a batch whose size is known when it runs
        count = ops.maximum(ops.cast(ops.round(ops.cast(rows, "float32") * share), "int32"), 1)
    return ops.arange(count, dtype="int32") * rows // count


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


def _check_classifier(classifier, method):
    if not isinstance(classifier, PrototypicalClassifier):
        raise TypeError(
            "`classifier` must be a `keras_dml.models.PrototypicalClassifier`. Received "
            f"{type(classifier).__name__}. To train a plain network by AT, ALP, TLA or TRADES make "
            "one of its encoder: they train the encoder and the auxiliary head only."
        )
    if method != PROTOTYPES and classifier.aux != "softmax":
        raise ValueError(
            f"Method {method!r} trains the auxiliary head, so `classifier` must be made with "
            f'aux="softmax". Received one with aux={classifier.aux!r}.'
        )
