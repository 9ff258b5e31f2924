"""Converts PyTorch weights to an `.npz` file, and the `.npz` file to a `.weights.h5` file of Keras.

The module imports neither Keras nor PyTorch, because it runs in an environment with PyTorch and in
another environment with Keras.
"""

import hashlib
import pathlib
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import typer

PREFIX = "weights/"  # of a weight's name in the .npz file
Read = Annotated[pathlib.Path, typer.Argument(help="The .npz file that `read` wrote.")]
ToRead = Annotated[pathlib.Path, typer.Argument(help="The .npz file to write.")]
Weights = Annotated[pathlib.Path, typer.Argument(help="The .weights.h5 file to write.")]


def check(path: pathlib.Path, sha256: str) -> None:
    """Checks the SHA-256 digest of a file with published weights.

    Raises:
        typer.BadParameter: If the digest of the file is not the expected one.
    """
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != sha256:
        raise typer.BadParameter(
            f"{path} has the SHA-256 digest {digest}, but {sha256} is expected. Use the published "
            "file."
        )


def keep(out: pathlib.Path, state: Mapping[str, Any], **original: np.ndarray) -> None:
    """Writes the weights of a PyTorch model, example inputs, and the outputs of the model for these
    inputs.

    Args:
        out: Path of the .npz file.
        state: `state_dict()` of the model.
        **original: Inputs and outputs of the model.
    """
    weights = {PREFIX + name: tensor.numpy() for name, tensor in state.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(out, **original, **weights)
    print(out)


def arrays(source: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Reads a dictionary of weights, and the inputs and outputs of the original model.

    Args:
        source: Path of the .npz file.
    """
    weights, original = {}, {}
    with np.load(source) as file:
        for name, value in file.items():
            if name.startswith(PREFIX):
                weights[name.removeprefix(PREFIX)] = value
            else:
                original[name] = value
    return weights, original


def save(
    model, out: pathlib.Path, compared: Mapping[str, tuple[np.ndarray, np.ndarray]], bound: float
) -> None:
    """Writes the weights of a Keras model if its outputs agree with the outputs of the original
    model.

    Args:
        model: A `keras.Model` with the weights.
        out: Path of the .weights.h5 file.
        compared: Dictionary from names to pairs `(outputs of the Keras model, original outputs)`.
        bound: Largest difference.

    Raises:
        typer.Exit: If a difference is larger than `bound`. If a difference is too large, no file is
            written.
    """
    for name, (values, expected) in compared.items():
        gap = float(np.abs(values - expected).max())
        print(f"{name}: largest difference {gap:.1e}, largest value {np.abs(values).max():.2g}")
        if not gap < bound:
            print(f"Nothing written: the difference must be below {bound}.", file=sys.stderr)
            raise typer.Exit(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save_weights(out)
    print(out)
