"""Pictures of the same things in several styles, each style left out of training in turn.

Only the upper part of a pretrained network is trained; what the network answers to a few varied
copies of each picture is computed once, up to that part and to its end, and kept on disk.
"""

import contextlib
import dataclasses
import hashlib
import sys

import numpy as np

from keras_dml import progress, reports
from keras_dml._files import staged
from keras_dml.evaluation import protocol
from keras_dml.reports import style
from keras_dml.samplers import EpisodeSampler
from tfds_builders.pacs_images.pacs_images_dataset_builder import CLASSES, DOMAINS
from zoo import augment, people

SIDE = 224  # pixels; the pictures have 227
# Varied copies: the least area of a crop, the greatest change of a color, how many lose theirs.
LEAST_AREA, COLOR, GRAY = 0.7, 0.3, 0.1
COPIES, COPY_SEED = 8, 0
BATCH = 32
AVERAGE = "average"


@dataclasses.dataclass(frozen=True)
class Pictures:
    """Pictures in the order of their names.

    Attributes:
        images: Shape `(pictures, 227, 227, 3)`, uint8, RGB.
        labels: Shape `(pictures,)`, int32, places in `CLASSES`.
        domains: Shape `(pictures,)`, names.
        validates: Shape `(pictures,)`, whether a picture is kept from training to choose by.
    """

    images: np.ndarray
    labels: np.ndarray
    domains: np.ndarray
    validates: np.ndarray

    def without(self, held_out=""):
        """Rows `(train, validation, test)` with a domain left out; without one there is no test."""
        test = self.domains == held_out
        parts = (~test & ~self.validates, ~test & self.validates, test)
        return tuple(np.flatnonzero(part) for part in parts)


@dataclasses.dataclass(frozen=True)
class Answers:
    """What the two parts of a network answer to pictures: first to the middle of each, then to
    varied copies of it.

    Attributes:
        maps: Of the lower part, arrays of shape `(pictures, ...)`, float16, on disk.
        features: Of the upper part, arrays of shape `(pictures, features)`, float32.
    """

    maps: list
    features: list


def pictures():
    """Every picture of PACS once, with the side that the builder puts it on."""
    found = {}
    for held_out in ("photo", "sketch"):  # together they train on all four domains
        splits = people.read(f"pacs_images/{held_out}")
        for validates, split in enumerate(("train", "validation")):
            for record in splits[split]:
                found[record["file"]] = (record, bool(validates))
    records, validates = zip(*(found[name] for name in sorted(found)), strict=True)
    names = list(DOMAINS)
    return Pictures(
        np.stack([record["image"] for record in records]),
        np.array([record["label"] for record in records], np.int32),
        np.array([names[record["domain"]] for record in records]),
        np.array(validates),
    )


def central(images):
    """The middle of pictures as a model takes it, float32 in [0, 1]."""
    top, left = ((extent - SIDE) // 2 for extent in images.shape[1:3])
    return np.divide(images[:, top : top + SIDE, left : left + SIDE], 255, dtype=np.float32)


def varied(images, rng):
    """A random part of each picture, mirrored or not, in changed colors; float32 in [0, 1]."""
    part = augment.mirror(augment.crop(images, rng, SIDE, LEAST_AREA), rng)
    return augment.recolor(np.divide(part, 255, dtype=np.float32), rng, COLOR, GRAY)


def answers(lower, upper, images, key, folder, copies=None):
    """What a pretrained network answers to each picture, from disk where it is known.

    Args:
        lower: `keras.Model` of images, the part that is not trained.
        upper: `keras.Model` of what `lower` gives, as it is before training.
        images: Of `Pictures`.
        key: What tells these weights from others.
        folder: Where to keep the answers, 49 kB for each copy of a picture at 14 x 14 x 112.
        copies: Varied copies of each picture; None: `COPIES`.

    Returns:
        `Answers`.
    """
    copies = COPIES if copies is None else copies
    settings = (key, SIDE, LEAST_AREA, COLOR, GRAY, COPY_SEED, lower.output_shape)
    digest = hashlib.sha256(images.tobytes() + repr(settings).encode()).hexdigest()[:12]
    folder = folder / f"answers_{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    found = Answers([], [])
    for network in (lower, upper):
        network.compile(jit_compile=False)  # slower for convolutions on a processor
    for copy in range(copies + 1):
        maps, features = (folder / f"{kind}_{copy}.npy" for kind in ("maps", "features"))
        if not (maps.exists() and features.exists()):
            print(f"copy {copy} of {copies} of the pictures", file=sys.stderr, flush=True)
            rng = np.random.default_rng((COPY_SEED, copy)) if copy else None
            _write((maps, features), (lower, upper), images, rng)
        found.maps.append(np.load(maps, mmap_mode="r"))
        found.features.append(np.load(features))
    return found


def _write(paths, networks, images, rng):
    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(staged(path)) for path in paths]
        kept = [
            np.lib.format.open_memmap(part, "w+", kind, (len(images), *network.output_shape[1:]))
            for part, kind, network in zip(parts, (np.float16, np.float32), networks, strict=True)
        ]
        for start in progress.track(range(0, len(images), BATCH), "pictures"):
            rows = slice(start, start + BATCH)
            x = central(images[rows]) if rng is None else varied(images[rows], rng)
            for array, network in zip(kept, networks, strict=True):
                array[rows] = x = network.predict_on_batch(x)
        for array in kept:
            array.flush()


def batches(known, copies, *, rows, per_class, steps, seed):
    """Batches of all classes, the pictures of each spread over the domains; of each picture one
    varied copy by chance.

    Args:
        known: `Pictures`.
        copies: Arrays of `Answers`.
        rows: Pictures to draw from.
        per_class: Pictures of each class in a batch.
        steps: Batches in an epoch.
        seed: Of the draws.
    """

    def look_up(drawn, rng):
        which = rng.integers(1, len(copies), len(drawn))
        places = drawn[:, 0].astype(int)
        return np.stack([copies[copy][row] for copy, row in zip(which, places, strict=True)])

    return EpisodeSampler(
        rows[:, None],
        known.labels[rows],
        ways=len(CLASSES),
        shots=1,
        queries=per_class - 1,
        sessions=known.domains[rows],
        steps=steps,
        augment=look_up,
        seed=seed,
    )


def table(found, methods):
    """Accuracy of every method on every domain left out, and on their average, as columns.

    Args:
        found: `{(method, domain, seed): accuracy}`, complete.
        methods: Names of the methods.

    Returns:
        Columns `left_out`, `method`, `accuracy`, `stderr` (over the seeds) and `seeds`.
    """
    columns = {"left_out": [], "method": [], "accuracy": [], "stderr": [], "seeds": []}
    for domain in (*DOMAINS, AVERAGE):
        for method in methods:
            values = over_seeds(found, method, domain)
            mean, error = protocol.mean_and_standard_error(values)
            row = (domain, method, round(mean, 5), round(error, 5), len(values))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def over_seeds(found, method, domain):
    """Accuracies of a method, one a seed; of `AVERAGE` the means over the domains."""
    seeds = sorted({seed for _, _, seed in found})
    of = list(DOMAINS) if domain == AVERAGE else [domain]
    return [float(np.mean([found[method, one, seed] for one in of])) for seed in seeds]


def lead(found, first, second):
    """By how much a method is ahead of another on average: mean and standard error over seeds of
    the differences, whose seeds and batches are the same."""
    pairs = (over_seeds(found, method, AVERAGE) for method in (first, second))
    return protocol.mean_and_standard_error([a - b for a, b in zip(*pairs, strict=True)])


def picture(found, methods, caption):
    """Dots with standard errors, a row for each domain left out and one for the average.

    Args:
        found: As of `table`.
        methods: Names of the methods.
        caption: Data and protocol.

    Returns:
        `matplotlib.figure.Figure`; `reports.save` writes it.
    """
    columns = table(found, methods)
    groups = [*DOMAINS, AVERAGE]
    with style.house_style():
        figure = style.new_figure(finding(found, methods), caption, width=8.4, height=4.8)
        axes = figure.subplots()
        for place, method in enumerate(methods):
            rows = [i for i, name in enumerate(columns["method"]) if name == method]
            color, _ = style.method_look(method, place)
            axes.errorbar(
                [100 * columns["accuracy"][i] for i in rows],
                np.arange(len(groups)) + 0.2 * (place - (len(methods) - 1) / 2),
                xerr=[100 * columns["stderr"][i] for i in rows],
                fmt="os^Dv"[place % 5],
                color=color,
                capsize=3,
                label=method,
            )
        axes.set_yticks(range(len(groups)), [name.replace("_", " ") for name in groups])
        axes.get_yticklabels()[-1].set_fontweight("bold")
        axes.invert_yaxis()
        axes.set_ylabel("domain never trained on")
        axes.set_xlabel("accuracy, %")
        axes.legend(loc="best")
    return figure


def finding(found, methods):
    """What the averages say in one sentence: who is ahead, if anybody."""
    values = {
        method: protocol.mean_and_standard_error(over_seeds(found, method, AVERAGE))
        for method in methods
    }
    best, *others = sorted(methods, key=lambda method: -values[method][0])
    gap, error = lead(found, best, others[0])
    said = [f"{name} {style.percent(values[name][0])}" for name in (best, *others)]
    if gap > 2 * error:
        return f"{best} is ahead on domains never trained on: {style.listed(said)}"
    return (
        f"{best} and {others[0]} are level on domains never trained on, within two standard "
        f"errors: {style.listed(said)}"
    )


def keep(found, methods, stem, caption):
    """Writes the picture and its numbers; returns the paths."""
    return reports.save(picture(found, methods, caption), stem, table(found, methods))
