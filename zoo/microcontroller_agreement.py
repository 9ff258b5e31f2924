"""Compares the C libraries for microcontrollers with Keras on real recordings.

The first table has one row per model. The script compiles each library for this computer and
computes all embeddings and all distances between two recordings in C. A decision flips if only one
of the two distances is at or below a threshold of the card. The equal error rate (EER) is computed
over all pairs of recordings, except pairs cut from the same recording.

Some published models were trained on all people. For these models, the second table contains the
trials of the card's headline. In these trials, models of a cross-validation compare people on whom
they were not trained.

Run `python -m zoo.microcontroller_agreement gait_lda` from the checkout. The docstring of
zoo/recordings.py says where the recordings are stored.
"""

import dataclasses
import importlib
import pathlib
import tempfile
from typing import Annotated

import numpy as np
import typer

import keras_dml
from export import agreement, quality
from export.runtimes import CLibrary
from keras_dml import evaluation, export, zoo
from zoo import evidence

MODELS = ("gait_qp_wl", "phone_gait_qp_wl", "gait_lda", "eye_lda")
ROOT = pathlib.Path(__file__).parent
MOST_PER_PERSON = 12


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Comparison of a C library with Keras.

    Attributes:
        recordings: Number of recordings.
        people: Number of people.
        genuine, imposter: Numbers of pairs of recordings of the same person and of two people.
        agreement: Comparison of the embeddings and of the distances.
        eer_keras, eer_c: Equal error rates by Keras and by the C library.
        flips: Number of decisions that flip, for each threshold of the card.
    """

    recordings: int
    people: int
    genuine: int
    imposter: int
    agreement: agreement.Agreement
    eer_keras: float
    eer_c: float
    flips: dict[float, int]


@dataclasses.dataclass(frozen=True)
class Folds:
    """Comparison of C libraries with Keras on people who were not used for training.

    Attributes:
        genuine, imposter: Numbers of trials in which the claim is true and false.
        people: Number of people.
        eer_keras, eer_c: Equal error rates by Keras and by the C libraries.
    """

    genuine: int
    imposter: int
    people: int
    eer_keras: float
    eer_c: float


def measure(library: CLibrary, name: str, measured: quality.Recordings) -> Comparison:
    """Compares a C library with the model in the zoo.

    Args:
        library: Library of the model.
        name: Name of the model in the zoo.
        measured: Recordings with their people and sources.
    """
    model = zoo.load(name)
    expected = keras_dml.embed(model, measured.signals, progress=False)
    distances = keras_dml.distance(model, expected, expected)
    embeddings = library.embed(measured.signals)
    by_c = library.distance(embeddings, embeddings)
    values = expected[:, :-1] if expected.ndim == 3 else expected  # without the row of knots
    values = values.reshape(len(values), -1)
    pairs = np.triu(measured.sources[:, None] != measured.sources[None], 1)
    genuine = (measured.people[:, None] == measured.people[None])[pairs]
    thresholds = [row["value"] for row in zoo.card(name)["thresholds"]]

    def compare(*thresholds):
        reference = agreement.Reference(agreement.Outputs(values, distances), False, thresholds)
        return agreement.compare(agreement.Outputs(embeddings, by_c), reference, pairs)

    return Comparison(
        recordings=len(values),
        people=len(np.unique(measured.people)),
        genuine=int(genuine.sum()),
        imposter=int((~genuine).sum()),
        agreement=compare(*thresholds),
        eer_keras=evaluation.verification(distances[pairs], genuine).eer,
        eer_c=evaluation.verification(by_c[pairs], genuine).eer,
        flips={threshold: compare(threshold).flips for threshold in thresholds},
    )


def recordings_of(name: str) -> quality.Recordings:
    """Returns recordings of a model's test people, or of its training people if the published model
    was trained on all people."""
    return quality.limited(quality.test_recordings(zoo.card(name)), MOST_PER_PERSON)


def of_folds(name: str, folder: pathlib.Path) -> Folds:
    """Measures the models of a cross-validation on the trials of the card's headline.

    Args:
        name: Name of a model in the zoo that was trained on all people.
        folder: Folder for C libraries.
    """
    recipe = importlib.import_module(f"zoo.{name}.evidence")
    models = evidence.published(name).folds
    steps = max(map(len, recordings_of(name).signals))
    results = [
        export.microcontroller(model, folder / f"fold_{i}", steps=steps)
        for i, model in enumerate(models)
    ]
    by_c = recipe.over_folds([_by_c(CLibrary().load(result.path)) for result in results]).trials
    by_keras = recipe.over_folds([_by_keras(model) for model in models]).trials
    return Folds(
        genuine=int(by_keras.genuine.sum()),
        imposter=int((~by_keras.genuine).sum()),
        people=len(np.unique(by_keras.probes)),
        eer_keras=evaluation.verification(by_keras.scores, by_keras.genuine).eer,
        eer_c=evaluation.verification(by_c.scores, by_c.genuine).eer,
    )


def _by_c(library):
    def compared(signals):
        z = library.embed(signals)
        return library.distance(z, z)

    return compared


def _by_keras(model):
    def compared(signals):
        z = keras_dml.embed(model, signals, progress=False)
        return keras_dml.distance(model, z, z)

    return compared


def main(names: Annotated[list[str] | None, typer.Argument()] = None):
    """Prints how far C libraries differ from Keras."""
    print(
        "| model | recordings, people | pairs: genuine, imposter | drift, % | largest difference / "
        "stddev | EER, %: Keras, C | flips at each threshold |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names or MODELS:
        measured = recordings_of(name)
        steps = max(map(len, measured.signals))
        with tempfile.TemporaryDirectory() as folder:
            result = export.microcontroller(name, pathlib.Path(folder, name), steps=steps)
            row = measure(CLibrary().load(result.path), name, measured)
        print(
            f"| {name} | {row.recordings}, {row.people} | {row.genuine:,}, {row.imposter:,} | "
            f"{100 * row.agreement.drift:.2g} | {row.agreement.difference:.1e} | "
            f"{100 * row.eer_keras:.2f}, "
            f"{100 * row.eer_c:.2f} | {', '.join(map(str, row.flips.values()))} |",
            flush=True,
        )
    print("\n| model | people | trials: genuine, imposter | EER, %: Keras, C |")
    print("| --- | ---: | ---: | ---: |")
    for name in names or MODELS:
        if not (ROOT / name / evidence.FOLDS).is_dir():
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = of_folds(name, pathlib.Path(folder))
        print(
            f"| {name} | {row.people} | {row.genuine:,}, {row.imposter:,} | "
            f"{100 * row.eer_keras:.2f}, {100 * row.eer_c:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    typer.run(main)
