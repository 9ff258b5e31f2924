"""Trains encoders without some classes and computes their embeddings of all classes.

The published models of digits and photographs were trained on all ten classes. Figures on new
classes therefore need encoders that were trained on fewer classes. `zoo.new_classes` measures the
embeddings of these encoders.
"""

import dataclasses
import functools
import hashlib
import itertools
import pathlib

import numpy as np
from sklearn.datasets import load_digits

import keras_dml
from keras_dml import inference, zoo
from keras_dml._backend import keras
from keras_dml._files import staged
from keras_dml.losses import PrototypicalLoss
from keras_dml.models import PrototypicalClassifier, conv4
from keras_dml.samplers import EpisodeSampler
from keras_dml.training import Optimization
from zoo import augment, images
from zoo.cifar10_proto_sim import train as cifar10
from zoo.omniglot_proto_sim import train as omniglot

CHOICE, MEASURED = PHASES = ("choice", "measured")
SEED = 0
OLD_ALPHABETS = 3  # of Omniglot, whose characters are the old classes
HELD_OUT_ALPHABETS = 6  # of the background set, by which settings are chosen
TRAINING_DRAWINGS = 15  # of the 20 drawings of a character
TRAINING_UTTERANCES = 30  # of each speaker, as in the official split
TRAINING_DIGITS = 0.7
STEPS = {"digits": 400, "omniglot": 1500, "speakers": 200, "cifar10": 400}


@dataclasses.dataclass(frozen=True)
class Split:
    """A split of classes into old and new classes.

    Attributes:
        name: Name of the split.
        trained: Class ids on which the encoder is trained. If two splits have the same ids here,
            they share an encoder.
        old: Class ids that the classifier knows before classes are added.
        new: Class ids that are added.
    """

    name: str
    trained: tuple[int, ...]
    old: tuple[int, ...]
    new: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of a data set, either for training and support or for the test.

    Attributes:
        x: Examples, shape `(count, ...)`.
        y: Class ids, shape `(count,)`.
    """

    x: np.ndarray
    y: np.ndarray


def digits() -> tuple[Part, Part]:
    """Returns random training and test parts of scikit-learn's digits of 8 by 8 pixels."""
    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16).astype("float32")
    order = np.random.default_rng(SEED).permutation(len(y))
    return _parts(x[order], y[order], TRAINING_DIGITS)


def speakers() -> tuple[Part, Part]:
    """Returns training and test parts of the demo's utterances by nine speakers, with 7 frames per
    utterance.
    """
    folder = pathlib.Path(keras_dml.__file__).parent / "cli" / "demo_data"
    data = np.load(folder / "japanese_vowels.npz")
    utterances = np.split(data["frames"], np.cumsum(data["lengths"])[:-1])
    x = np.stack([utterance[:7] for utterance in utterances])
    return _parts(x, data["speakers"].astype(int) - 1, TRAINING_UTTERANCES)


def photographs() -> tuple[Part, Part]:
    """Returns the official training and test parts of the available photographs of CIFAR-10."""
    return tuple(Part(*images.cifar10(split)) for split in images.SPLITS)


def characters() -> tuple[Part, Part]:
    """Returns training and test parts of all characters of Omniglot, including its evaluation
    set.
    """
    x, y = zip(*((d.images, d.labels) for d in _drawings()), strict=True)
    return _parts(np.concatenate(x), np.concatenate(y), TRAINING_DRAWINGS)


@functools.cache
def _drawings():
    return tuple(images.omniglot(split, 28) for split in images.SPLITS)


def alphabets() -> tuple[dict[str, tuple[int, ...]], ...]:
    """Returns two dictionaries from alphabets to class ids, for the background set and the
    evaluation set.
    """
    return tuple(
        {
            name: tuple(np.unique(d.labels[d.alphabets == name]).tolist())
            for name in np.unique(d.alphabets)
        }
        for d in _drawings()
    )


def _parts(x, y, size):
    """Divides examples into two parts. The first part contains the first `size` examples of each
    class, and the second part contains all other examples.

    If `size` is below 1, it is the fraction of each class's examples that the first part contains.
    """
    first = np.zeros(len(y), bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        first[rows[: size if size >= 1 else round(size * len(rows))]] = True
    return Part(x[first], y[first]), Part(x[~first], y[~first])


def splits(name: str, phase: str) -> list[Split]:
    """Returns the splits of a data set.

    A class that is new in a split for measurements is not part of any split that is used to choose
    settings.

    Args:
        name: One of `DOMAINS`.
        phase: `"choice"` for splits that are used to choose settings, or `"measured"` for the
            splits of the published figures.
    """
    if name == "omniglot":
        return _alphabet_splits(phase)
    classes = 9 if name == "speakers" else 10
    reserved = range(classes - 4, classes)  # new in measured splits only
    present = range(classes) if phase == MEASURED else range(classes - 4)
    pool = list(reserved if phase == MEASURED else present)
    pairs = list(itertools.combinations(pool, 2))
    if name == "cifar10":  # a training takes minutes
        pairs = [pairs[0], pairs[2], pairs[-1]] if phase == MEASURED else [pairs[1], pairs[-1]]
    elif phase == CHOICE:
        pairs = pairs[:: -(-len(pairs) // 3)]
    splits_of_pairs = []
    for pair in pairs:
        old = tuple(label for label in present if label not in pair)
        splits_of_pairs.append(Split("-".join(map(str, pair)), old, old, pair))
    return splits_of_pairs


def _alphabet_splits(phase):
    background, evaluation = alphabets()
    names = list(background)
    held_out = names[:: len(names) // HELD_OUT_ALPHABETS][:HELD_OUT_ALPHABETS]
    trained = [name for name in names if phase == MEASURED or name not in held_out]
    ids, old = (
        tuple(sorted(itertools.chain(*(background[name] for name in names))))
        for names in (trained, trained[:OLD_ALPHABETS])
    )
    if phase == CHOICE:
        return [Split(name, ids, old, background[name]) for name in held_out]
    return [Split(name, ids, old, evaluation[name]) for name in list(evaluation)[::2]]


def _vary_digits(batch, rng):
    return augment.shift_pixels(batch, rng, 1)


def _vary_characters(batch, rng):
    return augment.distort(batch, rng, **{**omniglot.DISTORTION, "shift": 2.0})


def untrained(name: str, classes: int) -> PrototypicalClassifier:
    """Builds an untrained classifier for a data set. The classifier is smaller than the classifier
    of the recipe.

    Args:
        name: One of `DOMAINS`.
        classes: Number of classes.
    """
    if name == "digits":
        encoder = conv4((8, 8, 1), width=32, blocks=2, embedding=64)
        return PrototypicalClassifier(encoder, classes, hidden=(128,))
    if name == "cifar10":
        encoder = conv4((32, 32, 3), width=(32, 64, 64, 64), embedding=64, early_pooling=True)
        return PrototypicalClassifier(encoder, classes, hidden=(128,))
    if name == "omniglot":
        encoder = conv4(width=(32, 32, 64, 64), early_pooling=True)
        options = {"aux": "am", "decay": 0.5, "hidden": (omniglot.HIDDEN,), **omniglot.SIMILARITY}
        return PrototypicalClassifier(encoder, classes, **options)
    layers = [keras.Input((7, 12)), keras.layers.Flatten(), keras.layers.Dense(32)]
    return PrototypicalClassifier(keras.Sequential(layers), classes, hidden=(32,))


DOMAINS = {
    "digits": (digits, _vary_digits),
    "omniglot": (characters, _vary_characters),
    "speakers": (speakers, None),
    "cifar10": (photographs, cifar10.vary),
}


def train(name: str, split: Split, part: Part, steps: int) -> PrototypicalClassifier:
    """Trains a classifier on the training classes of a split.

    Args:
        name: One of `DOMAINS`.
        split: `Split`.
        part: `Part` to train on. Examples of other classes are not used.
        steps: Training steps.
    """
    rows = np.isin(part.y, split.trained)
    x, y = part.x[rows], np.searchsorted(split.trained, part.y[rows])
    model, state = _compiled(name, len(split.trained), steps)
    for variable, value in state:
        variable.assign(value)
    ways = min(len(split.trained), 24)
    queries = max(4, 64 // ways) - 1
    batches = EpisodeSampler(
        x, y, ways=ways, shots=1, queries=queries, steps=steps, augment=DOMAINS[name][1], seed=SEED
    )
    model.fit(batches, verbose=0)
    model.refit_prototypes(x, y)
    return model


@functools.cache
def _compiled(name, classes, steps):
    """Returns a compiled classifier, and a list of pairs `(variable, initial value)`.

    Splits with the same number of classes share the compiled classifier, because compiling takes
    longer than training.
    """
    keras.utils.set_random_seed(SEED)
    model = untrained(name, classes)
    rate = 1e-2 if name == "speakers" else 2e-3
    optimization = Optimization(rate, warm_up=steps // 10, weight_decay=1e-4, clip_norm=10.0)
    model.compile(optimization.optimizer(steps), loss=_loss(name))
    model.optimizer.build(model.trainable_variables)
    variables = [*model.variables, *model.optimizer.variables]
    return model, [(variable, np.array(variable)) for variable in variables]


def _loss(name):
    if name == "omniglot":
        return PrototypicalLoss(candidates="batch")
    return PrototypicalLoss(label_smoothing=0.0 if name == "speakers" else 0.1)


def embed(name: str, split: Split, folder: pathlib.Path, steps: int | None = None):
    """Computes the embeddings of the training part and the test part with the classifier of a
    split, or reads them if they were stored.

    Args:
        name: One of `DOMAINS`.
        split: `Split`.
        folder: Folder of the models and the embeddings, created if missing.
        steps: Number of training steps. None: `STEPS`.

    Returns:
        The classifier, and for each of the two parts the embeddings and the class ids.
    """
    steps = STEPS[name] if steps is None else steps
    key = "_".join([name, str(steps), _digest(split.trained)])
    model_path, vectors_path = folder / f"{key}.keras", folder / f"{key}.npz"
    folder.mkdir(parents=True, exist_ok=True)
    if not vectors_path.exists():
        parts = DOMAINS[name][0]()
        model = train(name, split, parts[0], steps)
        model.save(model_path)
        columns = {}
        for label, part in zip(("support", "test"), parts, strict=True):
            columns[label] = inference.embed(model, part.x, batch_size=250, progress=False)
            columns[f"{label}_y"] = part.y
        with staged(vectors_path) as path:
            np.savez(path, **columns)
    with np.load(vectors_path) as columns:
        parts = [(columns[label], columns[f"{label}_y"]) for label in ("support", "test")]
    return zoo.load(model_path), *parts


def _digest(ids):
    return hashlib.sha256(np.array(ids, np.int64).tobytes()).hexdigest()[:8]
