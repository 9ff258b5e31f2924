"""PACS: images of the same things in several styles, each style left out of training in turn.

Only the upper part of a pretrained network is trained. The outputs of the network for a few varied
copies of each image are computed once, up to that part and to its end, and kept on disk.
"""

import contextlib
import dataclasses
import hashlib
import shutil
import sys

import numpy as np

from keras_dml import progress
from keras_dml._backend import ops
from keras_dml._files import staged
from keras_dml.samplers import EpisodeSampler
from keras_dml.training import Runs
from tfds_builders.pacs_images.pacs_images_dataset_builder import CLASSES, DOMAINS
from zoo import augment, people

SIDE = 224  # pixels; the images have 227
# Varied copies: smallest area of a crop, largest change of a color, fraction of gray images.
MIN_AREA, COLOR, GRAY = 0.7, 0.3, 0.1
COPIES, COPY_SEED = 8, 0
BATCH = 32


@dataclasses.dataclass(frozen=True)
class DomainImages:
    """Images in the order of their names.

    Attributes:
        images: Shape `(images, 227, 227, 3)`, uint8, RGB.
        labels: Shape `(images,)`, int32, indices in `CLASSES`.
        domains: Shape `(images,)`, names.
        validates: Shape `(images,)`, whether an image is kept from training to choose by.
    """

    images: np.ndarray
    labels: np.ndarray
    domains: np.ndarray
    validates: np.ndarray

    def without(self, held_out=""):
        """Rows `(train, validation, test)` with a domain left out; `""` leaves out none."""
        test = self.domains == held_out
        parts = (~test & ~self.validates, ~test & self.validates, test)
        return tuple(np.flatnonzero(part) for part in parts)

    def counts(self):
        """Numbers of images: all, those that train and those that validate."""
        train, validation, _ = self.without()
        return {
            "images": len(self.labels),
            "train": len(train),
            "validation": len(validation),
        }


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of the two parts of a network for the middle of each image, then for varied copies.

    Attributes:
        maps: Of the lower part, arrays of shape `(images, ...)`, float16, on disk.
        features: Of the upper part, arrays of shape `(images, features)`, float32.
    """

    maps: list
    features: list


def read():
    """Every image of PACS once, with the side that the builder puts it on."""
    found = {}
    for held_out in ("photo", "sketch"):  # together they train on all four domains
        splits = people.read(f"pacs_images/{held_out}")
        for validates, split in enumerate(("train", "validation")):
            for record in splits[split]:
                found[record["file"]] = (record, bool(validates))
    records, validates = zip(*(found[name] for name in sorted(found)), strict=True)
    names = list(DOMAINS)
    return DomainImages(
        np.stack([record["image"] for record in records]),
        np.array([record["label"] for record in records], np.int32),
        np.array([names[record["domain"]] for record in records]),
        np.array(validates),
    )


def central(images):
    """The middle of images as a model takes it, float32 in [0, 1]."""
    top, left = ((extent - SIDE) // 2 for extent in images.shape[1:3])
    return np.divide(images[:, top : top + SIDE, left : left + SIDE], 255, dtype=np.float32)


def varied(images, rng):
    """A random part of each image, mirrored or not, in changed colors; float32 in [0, 1]."""
    part = augment.mirror(augment.crop(images, rng, SIDE, MIN_AREA), rng)
    return augment.recolor(np.divide(part, 255, dtype=np.float32), rng, COLOR, GRAY)


def outputs(lower, upper, images, key, folder, copies=None):
    """Outputs of a pretrained network for each image, from disk where they are known.

    Args:
        lower: `keras.Model` of images, the part that is not trained.
        upper: `keras.Model` of the outputs of `lower`, as it is before training.
        images: Images of `DomainImages`.
        key: Text that identifies the weights.
        folder: Folder of the outputs, 49 kB for each copy of an image at 14 x 14 x 112.
        copies: Varied copies of each image; None: `COPIES`.

    Returns:
        `Outputs`.
    """
    copies = COPIES if copies is None else copies
    settings = (key, SIDE, MIN_AREA, COLOR, GRAY, COPY_SEED, lower.output_shape)
    digest = hashlib.sha256(images.tobytes() + repr(settings).encode()).hexdigest()[:12]
    folder = folder / f"outputs_{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    found = Outputs([], [])
    for copy in range(copies + 1):
        maps, features = (folder / f"{kind}_{copy}.npy" for kind in ("maps", "features"))
        if not (maps.exists() and features.exists()):
            print(f"copy {copy} of {copies} of the images", file=sys.stderr, flush=True)
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
        for start in progress.track(range(0, len(images), BATCH), "images"):
            rows = slice(start, start + BATCH)
            x = central(images[rows]) if rng is None else varied(images[rows], rng)
            for array, network in zip(kept, networks, strict=True):
                array[rows] = x = ops.convert_to_numpy(network(x, training=False))
        for array in kept:
            array.flush()


def batches(known, copies, *, rows, per_class, steps, seed):
    """Batches of all classes, the images of each spread over the domains, in random varied copies.

    Args:
        known: `DomainImages`.
        copies: Arrays of `Outputs`.
        rows: Images to draw from.
        per_class: Images of each class in a batch.
        steps: Batches in an epoch.
        seed: Seed of the draws.
    """

    def look_up(drawn, rng):
        which = rng.integers(1, len(copies), len(drawn))
        images = drawn[:, 0].astype(int)
        return np.stack([copies[copy][row] for copy, row in zip(which, images, strict=True)])

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


def leave_one_out(run, seeds, heads, train):
    """Trains networks without each domain in turn; with `resume` finished ones are not repeated.

    Args:
        run: `zoo.recipe.Run`.
        seeds: Number of seeds, from that of the run on.
        heads: `{name: (method, head)}`.
        train: Function of settings, a dict of `domain`, `method`, `seed` and `steps`, that gives
            `test`, for each head a list, whether each image is right, and `minutes`.

    Returns:
        `{(name, domain, seed): right}`, booleans of shape `(images of the domain,)`, and the
        minutes of all trainings.
    """
    plan = [
        {
            "name": f"without_{domain}_{method}_{seed}",
            "domain": domain,
            "method": method,
            "seed": seed,
            "steps": run.steps,
        }
        for seed in range(run.seed, run.seed + seeds)
        for domain in DOMAINS
        for method in dict.fromkeys(method for method, _ in heads.values())
    ]
    if not run.resume:
        shutil.rmtree(run.out / "runs", ignore_errors=True)
    results = Runs(run.out / "runs").make(plan, train, "trainings")
    found = {
        (name, settings["domain"], settings["seed"]): np.array(result["test"][head])
        for settings, result in zip(plan, results, strict=True)
        for name, (method, head) in heads.items()
        if method == settings["method"]
    }
    return found, sum(result["minutes"] for result in results)
