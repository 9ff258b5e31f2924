"""Measures the accuracy of digit classifiers under attack. A resumed run continues from
checkpoints.

To measure a published file, run `python -m zoo.under_attack mnist_proto_sim_at --out DIR` from the
checkout.
"""

import pathlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, zoo
from keras_dml.evaluation import attacks
from keras_dml.training import measure
from keras_dml.training.answers import Answers
from zoo import images

EPSILON = 0.3  # of a range of 1, Monteiro2020, section 4.1.1
# The attacks were chosen on 1,000 training images of `mnist_proto_sim_at`. APGD on the margin with
# five starts succeeded on 25 images. The other attacks that use only gradients succeeded on one
# more image. On the first 512 images, Square-5000 succeeded on five more images. On most of these
# five images, APGD that starts from the result of 500 squares succeeds at every second start.
ON_ALL = (
    attacks.FGSM(EPSILON),
    attacks.PGD(EPSILON, steps=40, step_size=0.01),
    attacks.APGD(EPSILON),
    attacks.APGD(EPSILON, restarts=5, loss="margin"),
)
ON_FIRST = (
    attacks.SquareAPGD(EPSILON, restarts=5),
    attacks.Square(EPSILON, queries=5000),
    attacks.APGD(EPSILON, loss="dlr"),
    *(attacks.APGD(EPSILON, loss="margin", source=source) for source in ("dol", "cosine")),
    attacks.TargetedAPGD(EPSILON),
)
FIRST = 2000  # images
UNION = f"union of all {len(ON_ALL) + len(ON_FIRST)}"
PART = 1000  # images of a checkpoint


def measured(model, x, y, out):
    """Computes which images are classified correctly under each attack and under unions of attacks.

    Args:
        model: `PrototypicalClassifier`.
        x: Images, shape `(count, 28, 28, 1)`.
        y: Digits, shape `(count,)`.
        out: Folder of the checkpoints.

    Returns:
        Dictionary from names of attacks to booleans of shape `(count,)`. The attacks in `ON_FIRST`
        and `UNION` have booleans for the first images only.
    """
    right = {}
    for start in range(0, len(x), PART):
        rows = slice(start, start + PART)
        applied = (*ON_ALL, *ON_FIRST) if start < FIRST else ON_ALL
        path = out / f"attacks_{start}.npz"
        result = evaluation.robustness(model, x[rows], y[rows], applied, head="sim", out=path)
        for attack in applied:
            right.setdefault(attack.name, []).append(result.attacks[attack.name].robust)
    right = {name: np.concatenate(parts) for name, parts in right.items()}
    on_all = np.logical_and.reduce([right[attack.name] for attack in ON_ALL])
    first = [right[attack.name] for attack in ON_FIRST]
    union = np.logical_and.reduce([on_all[: len(first[0])], *first])
    return {**right, f"union of the first {len(ON_ALL)}": on_all, UNION: union}


def figures(right):
    """Computes rows for the entry `figures` of a card.

    Args:
        right: Output of `measured`.
    """
    rows = []
    for name, answers in right.items():
        (row,) = Answers(answers).rows()
        keys = {"head": "sim", "attack": name, "epsilon": EPSILON, "ci95": row["ci95"]}
        rows.append(
            measure.proportion("robustness", row["metric"], row["value"], len(answers), **keys)
        )
    return rows


def main(
    name: Annotated[str, typer.Argument(help="Model of the zoo that classifies digits.")],
    out: Annotated[
        pathlib.Path,
        typer.Option(help="Folder of checkpoints. If it exists, the attacks continue from it."),
    ],
    attacked: Annotated[
        int, typer.Option(help="Number of test images to attack, from the first image.")
    ] = 10_000,
):
    """Attacks a published model and prints its figures."""
    x, y = images.mnist("test")
    right = measured(zoo.load(name), x[:attacked], y[:attacked], out)
    print(measure.summary(figures(right)))


if __name__ == "__main__":
    typer.run(main)
