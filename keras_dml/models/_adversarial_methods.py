"""Methods of adversarial training: what each attacks, trains on and minimizes."""

from keras_dml._backend import keras, ops
from keras_dml._backend.replicas import per_replica
from keras_dml.losses import robust
from keras_dml.losses.prototypes import PrototypicalLoss, additive_margin, known_ids
from keras_dml.models import _attacks
from keras_dml.models._classifier_checks import check_loss

TRADES_START = 1e-3  # standard deviation of its start: at the inputs the divergence is flat


class Method:
    """What a method of `AdversarialTraining` attacks, trains on and minimizes.

    Args:
        name: Name of the method.
        classifier: The `PrototypicalClassifier` that is trained.
        constants: Dict of constants that differ from `defaults`; None: none.

    Raises:
        ValueError: If a constant is not one of the method's, or the classifier has not the head
            that the method trains.
    """

    defaults = {}  # constants as in Monteiro2020, Table 1

    def __init__(self, name, classifier, constants=None):
        unknown = set(constants or {}) - set(self.defaults)
        if unknown:
            raise ValueError(
                f"`constants` of method {name!r} are {tuple(self.defaults)}. Received "
                f"{sorted(unknown)}."
            )
        self.name, self.classifier = name, classifier
        self.constants = {**self.defaults, **(constants or {})}

    @property
    def metrics(self):
        """Metrics that `loss` updates."""
        return ()

    def scores(self, embedding):
        """Scores that the trained model returns, shape `(batch, classes)`."""
        raise NotImplementedError

    def start(self, x, epsilon, seed):
        """Points where the attack on inputs begins, shape of `x`."""
        return _attacks.uniform_start(x, epsilon, seed)

    def attacked_loss(self, x, labels):
        """What the attack maximizes: a function of inputs that returns one value an example."""
        raise NotImplementedError

    def joined(self, x, y, adversarial, clean_fraction):
        """Inputs and labels that a step trains on, made of a batch and its adversarial examples."""
        return ops.concatenate([ops.cast(x, adversarial.dtype), adversarial]), _twice(y)

    def loss(self, y, outputs, *, loss, penalties, training, static):
        """The loss of a batch, a scalar.

        Args:
            y: Class ids, shape `(batch,)`.
            outputs: Dict of `embedding` and `scores` of what `joined` returned; in an evaluation of
                clean inputs.
            loss: Loss that the trainer was compiled with, or None.
            penalties: Further terms, scalars.
            training: Whether this is a training step.
            static: Whether XLA compiles the step.
        """
        raise NotImplementedError


class Prototypes(Method):
    """All three terms of the classifier, on clean and adversarial inputs (Monteiro2020)."""

    @property
    def metrics(self):
        return self.classifier._term_metrics

    def scores(self, embedding):
        return self.classifier.prototypes_layer(embedding, training=False)

    def attacked_loss(self, x, labels):
        classifier = self.classifier

        def values(point):
            """Cross-entropies of both heads, in inference mode, encoded once."""
            embedding = classifier.embed(point)
            of_prototypes = robust.cross_entropy(labels, classifier.head_scores(embedding, "sim"))
            if classifier.aux is None:
                return of_prototypes
            logits = classifier.head_scores(embedding, "dol")
            if classifier.aux == "am":
                logits = additive_margin(logits, labels)
            return of_prototypes + robust.cross_entropy(labels, logits)

        return values

    def joined(self, x, y, adversarial, clean_fraction):
        if not clean_fraction:
            return adversarial, y
        if clean_fraction == 0.5:
            return super().joined(x, y, adversarial, clean_fraction)
        rows = _evenly(ops.shape(x)[0], clean_fraction / (1 - clean_fraction))
        clean = ops.take(ops.cast(x, adversarial.dtype), rows, axis=0)
        labels = ops.take(y, rows, axis=0)
        return ops.concatenate([clean, adversarial]), ops.concatenate([labels, y])

    def loss(self, y, outputs, *, loss, penalties, training, static):
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
    """A method that trains the encoder and the auxiliary head, and freezes the similarity."""

    def __init__(self, name, classifier, constants=None):
        super().__init__(name, classifier, constants)
        if classifier.aux != "softmax":
            raise ValueError(
                f"Method {name!r} trains the auxiliary head, so `classifier` must be built with "
                f'aux="softmax". Received one with aux={classifier.aux!r}.'
            )
        classifier.prototypes_layer.trainable = False

    def scores(self, embedding):
        return self.classifier.aux_head(embedding)

    def logits(self, x):
        """Logits of the auxiliary head in inference mode, shape `(batch, classes)`."""
        return self.scores(self.classifier.encoder(x, training=False))

    def attacked_loss(self, x, labels):
        return lambda point: robust.cross_entropy(labels, self.logits(point))

    def values(self, labels, clean, adversarial):
        """The loss of each input, shape `(batch,)`, from its outputs and those of its twin.

        Args:
            labels: Class ids, int32, shape `(batch,)`.
            clean: Dict of `embedding` and `scores`.
            adversarial: The same of the adversarial examples.
        """
        raise NotImplementedError

    def halves(self, labels, outputs):
        """Labels, and the outputs of clean inputs and of their twins, from those of `joined`."""
        labels, _ = ops.split(labels, 2)
        pairs = {key: ops.split(value, 2) for key, value in outputs.items()}
        return labels, *({key: pair[i] for key, pair in pairs.items()} for i in (0, 1))

    def loss(self, y, outputs, *, loss, penalties, training, static):
        if loss is not None:
            raise ValueError(
                f"Method {self.name!r} is its own loss: `compile(optimizer)`. Received "
                f"loss={loss!r}."
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
    """Cross-entropy on adversarial inputs only (Madry2018)."""

    def joined(self, x, y, adversarial, clean_fraction):
        return adversarial, y

    def halves(self, labels, outputs):
        return labels, outputs, outputs

    def values(self, labels, clean, adversarial):
        return robust.cross_entropy(labels, adversarial["scores"])


class LogitPairing(AuxiliaryMethod):
    """Adversarial logit pairing (Kannan2018)."""

    defaults = {"weight": 0.5}

    def values(self, labels, clean, adversarial):
        return robust.alp(labels, clean["scores"], adversarial["scores"], **self.constants)


class TripletLoss(AuxiliaryMethod):
    """Triplet loss adversarial training (Mao2019)."""

    defaults = {"weight": 0.5, "margin": 0.05, "norm_weight": 1e-4}

    def values(self, labels, clean, adversarial):
        embeddings = clean["embedding"], adversarial["embedding"]
        return robust.tla(labels, *embeddings, adversarial["scores"], **self.constants)


class Trades(AuxiliaryMethod):
    """Clean cross-entropy and the divergence of clean and adversarial logits (Zhang2019)."""

    defaults = {"beta": 6.0}

    def start(self, x, epsilon, seed):
        noise = keras.random.normal(ops.shape(x), dtype=x.dtype, seed=seed)
        return _attacks.project(x + TRADES_START * noise, x, epsilon)

    def attacked_loss(self, x, labels):
        clean = ops.stop_gradient(self.logits(x))
        return lambda point: robust.kl_divergence(clean, self.logits(point))

    def values(self, labels, clean, adversarial):
        return robust.trades(labels, clean["scores"], adversarial["scores"], **self.constants)


METHODS = {
    "prototypes": Prototypes,
    "at": AdversarialInputs,
    "alp": LogitPairing,
    "tla": TripletLoss,
    "trades": Trades,
}


def _twice(labels):
    return ops.concatenate([labels, labels])


def _evenly(rows, fraction):
    """Some rows of a batch, evenly spaced, since batches may be sorted by class."""
    if isinstance(rows, int):
        count = max(1, round(rows * fraction))
    else:  # a batch whose size is known when it runs
        count = ops.cast(ops.round(ops.cast(rows, "float32") * fraction), "int32")
        count = ops.maximum(count, 1)
    return ops.arange(count, dtype="int32") * rows // count
