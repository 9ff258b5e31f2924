"""Trains a classifier on adversarial examples by the methods PGD, AT, ALP, TLA and TRADES."""

import random
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from keras_dml._arrays import whole
from keras_dml._backend import keras, ops, training
from keras_dml._backend.replicas import per_replica
from keras_dml._typing import Tensor
from keras_dml.losses import robust
from keras_dml.losses.prototypes import PrototypicalLoss, additive_margin, known_ids
from keras_dml.models import _attacks
from keras_dml.models._checked_training import CheckedTraining, refuse_weights
from keras_dml.models._choices import choose
from keras_dml.models.prototypical_classifier import PrototypicalClassifier, check_loss

SEEDS = 2**32  # number of seeds of a generator of Keras
# Standard deviation of the noise that TRADES adds to inputs before its attack. Without noise, the
# attack would not start to move, because the gradient of the divergence is zero at the inputs.
TRADES_START = 1e-3


@keras.saving.register_keras_serializable(package="keras_dml")
class AdversarialTraining(CheckedTraining):
    """Adversarial training of a `PrototypicalClassifier`. Each training step attacks the inputs of
    its batch by projected gradient descent (PGD; Monteiro2020, section 4.1.1).

    A step first computes adversarial examples of its batch by projected gradient ascent from a
    random start within `epsilon`. During this attack the classifier is in inference mode, so
    neither the prototypes nor the running statistics change. The step then trains on clean and
    adversarial inputs together. The trained classifier is `model.classifier`, which shares its
    weights with this model. Metrics that are passed to `compile` are computed on all inputs of a
    step, including adversarial inputs.

    `method="prototypes"` selects the method of Monteiro2020, which trains all three loss terms of
    the classifier on clean and adversarial inputs together. The
    `keras_dml.losses.PrototypicalLoss` that is passed to `compile` sets the weights of the terms.
    The attack maximizes the sum of the class term and the auxiliary term, so that the similarity
    and the auxiliary head become robust. The other methods train only the encoder and the auxiliary
    head, and freeze the similarity. `"at"` (Madry2018) trains on adversarial inputs only. `"alp"`,
    `"tla"` and `"trades"` use the losses of `keras_dml.losses.robust`. After training with `"at"`,
    `"alp"`, `"tla"` or `"trades"`, use the scores of `head="dol"`.

    `evaluate` and validation compute the loss terms of the method on clean inputs, without an
    attack. `keras_dml.evaluation.robustness` measures accuracy under attack (AutoAttack, PGD).

    Inputs must be in [0, 1], and labels are class ids that start at 0. The model returns scores.
    With `"prototypes"`, the scores are similarities to the prototypes. With all other methods, the
    scores are logits of the auxiliary head.

    Args:
        classifier: A `keras_dml.models.PrototypicalClassifier`, with `aux="softmax"` for all
            methods except `"prototypes"`.
        method: Method of adversarial training: `"prototypes"`, `"at"`, `"alp"`, `"tla"` or
            `"trades"`.
        epsilon: Largest change of each entry of an input. Monteiro2020 uses an epsilon of 0.3 for
            MNIST and of 8/255 for CIFAR-10.
        steps: Number of steps of the attack. Monteiro2020 uses 40 steps for MNIST and 10 steps for
            CIFAR-10.
        step_size: Change of each entry in one step of the attack. The default is `2.5 * epsilon /
            steps`.
        clean_fraction: Fraction from 0 to 0.5 of clean inputs among all inputs of a training step,
            for the method `"prototypes"`. Every step trains on the adversarial examples of all
            inputs. If `clean_fraction` is below 0.5, the step uses only some of the clean inputs,
            which are evenly spaced in the batch.
        ramp_steps: Number of training steps in which `epsilon` and `step_size` grow from near 0 to
            their full values. If `epsilon` and `step_size` are large from the start, the loss may
            fail to decrease.
        constants: Constants of the method's loss, as a dict of keyword arguments for the loss
            function in `keras_dml.losses.robust`. The defaults are the values in Table 1 of
            Monteiro2020.
        seed: Seed of the random start points, from 0 to 2**32 - 1. By default, Python's `random`
            draws the seed, as in Keras.

    Raises:
        TypeError: If the classifier is not a `PrototypicalClassifier`.
        ValueError: If an argument is out of range, if `constants` names an unknown constant, or if
            the method needs an auxiliary layer that the classifier does not have.

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
        classifier: PrototypicalClassifier,
        method: str = "prototypes",
        *,
        epsilon: float,
        steps: int,
        step_size: float | None = None,
        clean_fraction: float = 0.5,
        ramp_steps: int = 0,
        constants: dict[str, Any] | None = None,
        seed: int | None = None,
        name: str = "adversarial_training",
        **kwargs: Any,
    ):
        super().__init__(name=name, **kwargs)
        method_class = choose("method", method, METHODS)
        _check_attack(epsilon, steps, step_size, clean_fraction, ramp_steps)
        if seed is not None and whole("seed", seed, minimum=0) >= SEEDS:
            raise ValueError(f"`seed` must be from 0 to 2**32 - 1. Received seed={seed!r}.")
        _check_classifier(classifier)
        self._method = method_class(method, classifier, constants)
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

    def build(self, input_shape: tuple[Any, ...]) -> None:
        self.steps_taken = self.add_weight(
            name="steps_taken", shape=(), dtype="int32", initializer="zeros", trainable=False
        )

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        embedding = self.classifier._encode(inputs, training)
        return self._outputs(embedding, self._method.scores(embedding), training)

    def train_step(self, *arguments):
        """Computes adversarial examples of the batch and trains on clean and adversarial inputs."""
        return super().train_step(*training.with_data(self, arguments, self._join))

    def compute_loss(
        self,
        x: Tensor | None = None,
        y: Tensor | None = None,
        y_pred: Tensor | dict[str, Any] | None = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """Computes the loss of the method. In an evaluation, the loss uses only clean inputs."""
        refuse_weights(self, sample_weight)
        if not isinstance(y_pred, dict):
            embedding = self.classifier._encode(x, training)
            y_pred = {"embedding": embedding, "scores": y_pred}
        return self._method.loss(
            y,
            y_pred,
            loss=self.loss,
            penalties=self.losses,
            training=training,
            static=self.jit_compile,
        )

    def attack(self, x: Tensor, y: Tensor) -> Tensor:
        """Computes adversarial examples of a batch in the same way as the next training step.

        Args:
            x: Inputs, shape `(batch, ...)`, in [0, 1].
            y: Class ids, shape `(batch,)`.

        Returns:
            Adversarial examples, same shape as `x`, without a gradient.

        Raises:
            ValueError: If a label is not a class. If the method runs in a compiled step, the error
                comes from the backend and has another type.
        """
        x = ops.convert_to_tensor(x)
        labels, _ = known_ids(y, self.classifier._trained_classes)
        # The seed of a step is computed from the number of past steps. Keras saves this number with
        # the model, but does not save the state of a random generator.
        state = [ops.convert_to_tensor(self._first_seed), ops.cast(self.steps_taken, "uint32")]
        self.seed_generator.state.assign(ops.stack(state))
        epsilon, step_size = (self._ramp() * size for size in (self.epsilon, self.step_size))
        epsilon, step_size = ops.cast(epsilon, x.dtype), ops.cast(step_size, x.dtype)
        start = self._method.start(x, epsilon, self.seed_generator)
        loss = self._method.attacked_loss(x, labels)
        return _attacks.pgd(loss, x, start, epsilon, step_size, self.steps)

    def _ramp(self):
        """Returns the fraction of the full `epsilon` and `step_size` that the current step uses."""
        if not self.ramp_steps:
            return 1.0
        return ops.minimum((ops.cast(self.steps_taken, "float32") + 1) / self.ramp_steps, 1.0)

    def _join(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        refuse_weights(self, sample_weight)
        adversarial = self.attack(x, y)
        self.steps_taken.assign_add(1)
        return self._method.join(x, y, adversarial, self.clean_fraction)

    def _check_inputs(self, x):
        self.classifier._check_inputs(x)
        if isinstance(x, np.ndarray) and x.size and not 0 <= x.min() <= x.max() <= 1:
            raise ValueError(
                "`x` must hold inputs in [0, 1], the range of the attack. Received values from "
                f"{x.min():.3g} to {x.max():.3g}. Scale the inputs to [0, 1], and standardize them "
                "inside the encoder."
            )

    def _check_targets(self, x, y, training):
        self.classifier._check_targets(x, y, training)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.classifier.compute_output_shape(input_shape)

    def get_config(self) -> dict[str, Any]:
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
    def from_config(
        cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None
    ) -> Self:
        classifier = keras.saving.deserialize_keras_object(
            config["classifier"], custom_objects=custom_objects
        )
        return cls(**{**config, "classifier": classifier})


def _check_attack(epsilon, steps, step_size, clean_fraction, ramp_steps):
    if not 0 < epsilon <= 1:
        raise ValueError(
            "`epsilon` must be above 0 and at most 1, because inputs are in [0, 1]. Received "
            f"epsilon={epsilon!r}."
        )
    if int(steps) != steps or steps < 1:
        raise ValueError(f"`steps` must be a whole number of at least 1. Received steps={steps!r}.")
    if step_size is not None and not step_size > 0:
        raise ValueError(f"`step_size` must be above 0. Received step_size={step_size!r}.")
    if not 0 <= clean_fraction <= 0.5:
        raise ValueError(
            "`clean_fraction` must be from 0 to 0.5, because a step uses at least as many "
            f"adversarial inputs as clean inputs. Received clean_fraction={clean_fraction!r}."
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
            f"{type(classifier).__name__}. To train a plain network by AT, ALP, TLA or TRADES, "
            "build a `PrototypicalClassifier` from its encoder. These methods use only the encoder "
            "and the auxiliary head."
        )


class Method:
    """Base class of the methods of `AdversarialTraining`. A method defines the attack, the training
    inputs and the loss.

    Args:
        name: Name of the method.
        classifier: The `PrototypicalClassifier` that is trained.
        constants: Dict of constants that replace entries of `defaults`. By default, no entry is
            replaced.

    Raises:
        ValueError: If `constants` has a key that is not in `defaults`, or if the method trains a
            head that the classifier does not have.
    """

    defaults: dict[str, float] = {}  # constants of the loss, as in Monteiro2020, Table 1

    def __init__(
        self, name: str, classifier: PrototypicalClassifier, constants: dict[str, Any] | None = None
    ):
        unknown = set(constants or {}) - set(self.defaults)
        if unknown:
            raise ValueError(
                f"`constants` of method {name!r} may contain only {tuple(self.defaults)}. Received "
                f"{sorted(unknown)}."
            )
        self.name: str = name
        self.classifier: PrototypicalClassifier = classifier
        self.constants: dict[str, float] = {**self.defaults, **(constants or {})}

    @property
    def metrics(self) -> Sequence[Any]:
        """Metrics that `loss` updates."""
        return ()

    def scores(self, embedding: Tensor) -> Tensor:
        """Computes the scores that the model returns, shape `(batch, classes)`."""
        raise NotImplementedError

    def start(self, x: Tensor, epsilon: Tensor, seed: keras.random.SeedGenerator) -> Tensor:
        """Draws the points where the attack begins, same shape as the inputs `x`."""
        return _attacks.uniform_start(x, epsilon, seed)

    def attacked_loss(self, x: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns the function that the attack maximizes.

        The function maps inputs to one value per example.
        """
        raise NotImplementedError

    def join(
        self, x: Tensor, y: Tensor, adversarial: Tensor, clean_fraction: float
    ) -> tuple[Tensor, Tensor]:
        """Returns the inputs and labels of a training step. The inputs are clean inputs and
        adversarial examples.
        """
        inputs = ops.concatenate([ops.cast(x, adversarial.dtype), adversarial])
        return inputs, ops.concatenate([y, y])

    def loss(
        self,
        y: Tensor,
        outputs: dict[str, Tensor],
        *,
        loss: Any,
        penalties: Sequence[Tensor],
        training: bool,
        static: bool,
    ) -> Tensor:
        """Computes the loss of a batch, a scalar.

        Args:
            y: Class ids, shape `(batch,)`.
            outputs: Dict with the `embedding` and the `scores` of the inputs. In training, the
                inputs are the result of `join`. In an evaluation, the inputs are clean.
            loss: Loss that was passed to `compile`, or None.
            penalties: Scalars that are added to the loss, such as regularization losses of layers.
            training: Whether the step is a training step.
            static: Whether XLA compiles the step.
        """
        raise NotImplementedError


class Prototypes(Method):
    """Method that trains all three loss terms on clean and adversarial inputs (Monteiro2020)."""

    @property
    def metrics(self) -> Sequence[Any]:
        return self.classifier._term_metrics

    def scores(self, embedding: Tensor) -> Tensor:
        return self.classifier.prototypes_layer(embedding, training=False)

    def attacked_loss(self, x: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
        classifier = self.classifier

        def values(point):
            """Computes the cross-entropy of the similarity in inference mode. If there is an
            auxiliary head, its cross-entropy is added."""
            embedding = classifier.embed(point)
            class_term = robust.cross_entropy(labels, classifier.head_scores(embedding, "sim"))
            if classifier.aux is None:
                return class_term
            logits = classifier.head_scores(embedding, "dol")
            if classifier.aux == "am":
                logits = additive_margin(logits, labels)
            return class_term + robust.cross_entropy(labels, logits)

        return values

    def join(
        self, x: Tensor, y: Tensor, adversarial: Tensor, clean_fraction: float
    ) -> tuple[Tensor, Tensor]:
        if not clean_fraction:
            return adversarial, y
        if clean_fraction == 0.5:
            return super().join(x, y, adversarial, clean_fraction)
        rows = _evenly_spaced_rows(ops.shape(x)[0], clean_fraction / (1 - clean_fraction))
        clean = ops.take(ops.cast(x, adversarial.dtype), rows, axis=0)
        labels = ops.take(y, rows, axis=0)
        return ops.concatenate([clean, adversarial]), ops.concatenate([labels, y])

    def loss(
        self,
        y: Tensor,
        outputs: dict[str, Tensor],
        *,
        loss: Any,
        penalties: Sequence[Tensor],
        training: bool,
        static: bool,
    ) -> Tensor:
        check_loss(loss)
        return self.classifier.objective(
            y,
            outputs["embedding"],
            loss or PrototypicalLoss(),
            training=training,
            extra=penalties,
            static=static,
        )


class AuxiliaryMethod(Method):
    """Base class of methods that train the encoder and the auxiliary head and freeze the
    similarity."""

    def __init__(
        self, name: str, classifier: PrototypicalClassifier, constants: dict[str, Any] | None = None
    ):
        super().__init__(name, classifier, constants)
        if classifier.aux != "softmax":
            raise ValueError(
                f"Method {name!r} trains the auxiliary head, so `classifier` must be built with "
                f'aux="softmax". Received a classifier with aux={classifier.aux!r}.'
            )
        classifier.prototypes_layer.trainable = False

    def scores(self, embedding: Tensor) -> Tensor:
        return self.classifier.aux_head(embedding)

    def logits(self, x: Tensor) -> Tensor:
        """Computes logits of the auxiliary head in inference mode, shape `(batch, classes)`."""
        return self.scores(self.classifier.encoder(x, training=False))

    def attacked_loss(self, x: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
        return lambda point: robust.cross_entropy(labels, self.logits(point))

    def values(
        self, labels: Tensor, clean: dict[str, Tensor], adversarial: dict[str, Tensor]
    ) -> Tensor:
        """Computes the loss of each pair of a clean input and its adversarial example.

        Args:
            labels: Class ids, int32, shape `(batch,)`.
            clean: Dict with the `embedding` and the `scores` of the clean inputs.
            adversarial: Dict with the `embedding` and the `scores` of the adversarial examples.

        Returns:
            Losses, shape `(batch,)`.
        """
        raise NotImplementedError

    def halves(
        self, labels: Tensor, outputs: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        """Splits the outputs of a step into clean outputs and adversarial outputs. Returns the
        labels of one half, the clean outputs and the adversarial outputs.
        """
        labels, _ = ops.split(labels, 2)
        pairs = {key: ops.split(value, 2) for key, value in outputs.items()}
        return labels, *({key: pair[i] for key, pair in pairs.items()} for i in (0, 1))

    def loss(
        self,
        y: Tensor,
        outputs: dict[str, Tensor],
        *,
        loss: Any,
        penalties: Sequence[Tensor],
        training: bool,
        static: bool,
    ) -> Tensor:
        if loss is not None:
            raise ValueError(
                f"Method {self.name!r} has its own loss. Received loss={loss!r}. Call "
                "`compile(optimizer)` without a loss."
            )
        classes = self.classifier.aux_head.units
        labels, valid = known_ids(y, classes)
        clean = adversarial = outputs
        if training:
            labels, clean, adversarial = self.halves(labels, outputs)
        values = self.values(labels, clean, adversarial)
        total = ops.sum(values) / ops.cast(ops.shape(values)[0], values.dtype)
        total = sum((ops.cast(value, total.dtype) for value in penalties), start=total)
        return per_replica(ops.where(valid, total, float("nan")))


class AdversarialInputs(AuxiliaryMethod):
    """Adversarial training (AT; Madry2018), which uses the cross-entropy of adversarial inputs
    only.
    """

    def join(
        self, x: Tensor, y: Tensor, adversarial: Tensor, clean_fraction: float
    ) -> tuple[Tensor, Tensor]:
        return adversarial, y

    def halves(
        self, labels: Tensor, outputs: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
        return labels, outputs, outputs

    def values(
        self, labels: Tensor, clean: dict[str, Tensor], adversarial: dict[str, Tensor]
    ) -> Tensor:
        return robust.cross_entropy(labels, adversarial["scores"])


class LogitPairing(AuxiliaryMethod):
    """Adversarial logit pairing (ALP; Kannan2018)."""

    defaults: dict[str, float] = {"weight": 0.5}

    def values(
        self, labels: Tensor, clean: dict[str, Tensor], adversarial: dict[str, Tensor]
    ) -> Tensor:
        return robust.alp(labels, clean["scores"], adversarial["scores"], **self.constants)


class TripletLoss(AuxiliaryMethod):
    """Triplet loss adversarial training (TLA; Mao2019)."""

    defaults: dict[str, float] = {"weight": 0.5, "margin": 0.05, "norm_weight": 1e-4}

    def values(
        self, labels: Tensor, clean: dict[str, Tensor], adversarial: dict[str, Tensor]
    ) -> Tensor:
        embeddings = clean["embedding"], adversarial["embedding"]
        return robust.tla(labels, *embeddings, adversarial["scores"], **self.constants)


class Trades(AuxiliaryMethod):
    """TRADES (Zhang2019), which adds the cross-entropy of clean inputs and the divergence between
    the clean and the adversarial logits.
    """

    defaults: dict[str, float] = {"beta": 6.0}

    def start(self, x: Tensor, epsilon: Tensor, seed: keras.random.SeedGenerator) -> Tensor:
        noise = keras.random.normal(ops.shape(x), dtype=x.dtype, seed=seed)
        return _attacks.project(x + TRADES_START * noise, x, epsilon)

    def attacked_loss(self, x: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
        clean = ops.stop_gradient(self.logits(x))
        return lambda point: robust.kl_divergence(clean, self.logits(point))

    def values(
        self, labels: Tensor, clean: dict[str, Tensor], adversarial: dict[str, Tensor]
    ) -> Tensor:
        return robust.trades(labels, clean["scores"], adversarial["scores"], **self.constants)


METHODS: dict[str, type[Method]] = {
    "prototypes": Prototypes,
    "at": AdversarialInputs,
    "alp": LogitPairing,
    "tla": TripletLoss,
    "trades": Trades,
}


def _evenly_spaced_rows(rows, fraction):
    """Returns evenly spaced row indices. The selected rows include all classes even if a batch is
    sorted by class.
    """
    if isinstance(rows, int):
        count = max(1, round(rows * fraction))
    else:  # the size of the batch is unknown until the graph runs
        count = ops.cast(ops.round(ops.cast(rows, "float32") * fraction), "int32")
        count = ops.maximum(count, 1)
    return ops.arange(count, dtype="int32") * rows // count
