"""Reads PACS, images of the same classes in four domains (styles), and trains networks without each
domain in turn.

Only the upper part of a pretrained network is trained. For a few augmented copies of each image,
the outputs of the lower part and of the whole network are computed once and stored on disk.
"""

import contextlib
import dataclasses
import hashlib
import pathlib
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from keras_dml import progress
from keras_dml._backend import ops
from keras_dml._files import staged
from keras_dml.samplers import EpisodeSampler
from keras_dml.training import Runs
from tfds_builders.pacs_images.pacs_images_dataset_builder import CLASSES, DOMAINS
from zoo import augment, people

SIDE = 224  # pixels; the images have 227
# Settings of augmented copies: smallest area of a crop, largest change of a color, fraction of gray
# images.
MIN_AREA, COLOR, GRAY = 0.7, 0.3, 0.1
COPIES, COPY_SEED = 8, 0
BATCH = 32


@dataclasses.dataclass(frozen=True)
class DomainImages:
    """Images, sorted by name, with their labels and domains.

    Attributes:
        images: Shape `(images, 227, 227, 3)`, uint8, RGB.
        labels: Shape `(images,)`, int32, indices in `CLASSES`.
        domains: Shape `(images,)`, names.
        validates: Shape `(images,)`, whether an image is used for validation instead of training.
    """

    images: np.ndarray
    labels: np.ndarray
    domains: np.ndarray
    validates: np.ndarray

    def without(self, held_out: str = "") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the indices of training, validation and test images if a domain is left out. The
        domain `""` leaves out no domain.
        """
        test = self.domains == held_out
        parts = (~test & ~self.validates, ~test & self.validates, test)
        return tuple(np.flatnonzero(part) for part in parts)

    def counts(self) -> dict[str, int]:
        """Returns three numbers: how many images there are, how many are for training, and how many
        are for validation.
        """
        train, validation, _ = self.without()
        return {
            "images": len(self.labels),
            "train": len(train),
            "validation": len(validation),
        }


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of the lower and the upper part of a network. Each attribute is a list of arrays. The
    first array is computed from the centers of the images. Each further array is computed from
    another augmented copy of all images.

    Attributes:
        maps: Outputs of the lower part of the network, arrays of shape `(images, ...)`, float16, on
            disk.
        features: Outputs of the upper part of the network, arrays of shape `(images, features)`,
            float32.
    """

    maps: list[np.ndarray]
    features: list[np.ndarray]


def read() -> DomainImages:
    """Reads every image of PACS once, with the split that the data set builder assigns to the
    image.
    """
    records_by_file = {}
    for held_out in ("photo", "sketch"):  # together they train on all four domains
        splits = people.read(f"pacs_images/{held_out}")
        for validates, split in enumerate(("train", "validation")):
            for record in splits[split]:
                records_by_file[record["file"]] = (record, bool(validates))
    pairs = (records_by_file[name] for name in sorted(records_by_file))
    records, validates = zip(*pairs, strict=True)
    names = list(DOMAINS)
    return DomainImages(
        np.stack([record["image"] for record in records]),
        np.array([record["label"] for record in records], np.int32),
        np.array([names[record["domain"]] for record in records]),
        np.array(validates),
    )


def central(images: np.ndarray) -> np.ndarray:
    """Returns the central square of each image as input of a model, float32 in [0, 1]."""
    top, left = ((extent - SIDE) // 2 for extent in images.shape[1:3])
    return np.divide(images[:, top : top + SIDE, left : left + SIDE], 255, dtype=np.float32)


def augmented(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns a random crop of each image, randomly mirrored and recolored, float32 in [0, 1]."""
    part = augment.mirror(augment.crop(images, rng, SIDE, MIN_AREA), rng)
    return augment.recolor(np.divide(part, 255, dtype=np.float32), rng, COLOR, GRAY)


def outputs(
    lower, upper, images: np.ndarray, key: str, folder: pathlib.Path, copies: int | None = None
) -> Outputs:
    """Computes the outputs of a pretrained network for each image, or reads them from disk.

    Args:
        lower: `keras.Model` that takes images. The lower part of the network is not trained.
        upper: `keras.Model` that takes the outputs of `lower`. The weights of `upper` must be the
            pretrained weights.
        images: The attribute `images` of `DomainImages`.
        key: Text that identifies the weights.
        folder: Folder for the outputs. Each copy of an image needs 49 kB if the lower part returns
            14 x 14 x 112 values.
        copies: Number of augmented copies of each image. None: `COPIES`.
    """
    copies = COPIES if copies is None else copies
    settings = (key, SIDE, MIN_AREA, COLOR, GRAY, COPY_SEED, lower.output_shape)
    digest = hashlib.sha256(images.tobytes() + repr(settings).encode()).hexdigest()[:12]
    folder = folder / f"outputs_{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    result = Outputs([], [])
    for copy in range(copies + 1):
        maps, features = (folder / f"{kind}_{copy}.npy" for kind in ("maps", "features"))
        if not (maps.exists() and features.exists()):
            print(f"images: copy {copy} of {copies}", file=sys.stderr, flush=True)
            rng = np.random.default_rng((COPY_SEED, copy)) if copy else None
            _write((maps, features), (lower, upper), images, rng)
        result.maps.append(np.load(maps, mmap_mode="r"))
        result.features.append(np.load(features))
    return result


def _write(paths, networks, images, rng):
    """Writes the outputs for the centers of images, or for an augmented copy if `rng` is set."""
    with contextlib.ExitStack() as stack:
        parts = [stack.enter_context(staged(path)) for path in paths]
        arrays = [
            np.lib.format.open_memmap(part, "w+", kind, (len(images), *network.output_shape[1:]))
            for part, kind, network in zip(parts, (np.float16, np.float32), networks, strict=True)
        ]
        for start in progress.track(range(0, len(images), BATCH), "images"):
            rows = slice(start, start + BATCH)
            x = central(images[rows]) if rng is None else augmented(images[rows], rng)
            for array, network in zip(arrays, networks, strict=True):
                array[rows] = x = ops.convert_to_numpy(network(x, training=False))
        for array in arrays:
            array.flush()


def batches(
    images: DomainImages,
    copies: list[np.ndarray],
    *,
    rows: np.ndarray,
    per_class: int,
    steps: int,
    seed: int,
) -> EpisodeSampler:
    """Samples batches that contain all classes. The images of each class come from all domains. For
    each image, one augmented copy is drawn at random.

    Args:
        images: `DomainImages`.
        copies: Arrays of `Outputs`.
        rows: Indices of the images to draw from.
        per_class: Number of images per class in a batch.
        steps: Number of batches in an epoch.
        seed: Seed of the random draws.
    """

    def look_up(sample, rng):
        numbers = rng.integers(1, len(copies), len(sample))
        indices = sample[:, 0].astype(int)
        return np.stack([copies[copy][row] for copy, row in zip(numbers, indices, strict=True)])

    return EpisodeSampler(
        rows[:, None],
        images.labels[rows],
        ways=len(CLASSES),
        shots=1,
        queries=per_class - 1,
        sessions=images.domains[rows],
        steps=steps,
        augment=look_up,
        seed=seed,
    )


def leave_one_out(
    run,
    seeds: int,
    heads: Mapping[str, tuple[str, str]],
    train: Callable[[dict[str, Any]], dict[str, Any]],
) -> tuple[dict[tuple[str, str, int], np.ndarray], float]:
    """Trains networks without each domain in turn. A resumed run reuses finished trainings.

    Args:
        run: `zoo.recipe.Run`.
        seeds: Number of seeds, starting at the seed of the run.
        heads: Dictionary from names to pairs `(method, head)`.
        train: Function that trains one network. It takes a dictionary with `domain`, `method`,
            `seed` and `steps`, and returns a dictionary with `minutes` and `test`. The entry `test`
            contains one list of booleans per head. A boolean says whether an image is classified
            correctly.

    Returns:
        A dictionary `{(name, domain, seed): right}`, and the total minutes of all trainings. The
        array `right` contains one boolean for each image of the domain.
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
    answers = {
        (name, settings["domain"], settings["seed"]): np.array(result["test"][head])
        for settings, result in zip(plan, results, strict=True)
        for name, (method, head) in heads.items()
        if method == settings["method"]
    }
    return answers, sum(result["minutes"] for result in results)
