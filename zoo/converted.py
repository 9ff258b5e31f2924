"""Weights of PyTorch's models in Keras: read into a `.npz` file, from it to a `.weights.h5` file.

Neither Keras nor PyTorch is imported here, so that the environments of both can use it.
"""

import hashlib
import pathlib
import sys
from typing import Annotated

import numpy as np
import typer

PREFIX = "weights/"  # of a weight's name in the .npz file
Read = Annotated[pathlib.Path, typer.Argument(help="The .npz file that `read` wrote.")]
ToRead = Annotated[pathlib.Path, typer.Argument(help="The .npz file to write.")]
Weights = Annotated[pathlib.Path, typer.Argument(help="The .weights.h5 file to write.")]


def check(path, sha256):
    """Raises typer.BadParameter unless a file of published weights is the one that is known."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != sha256:
        raise typer.BadParameter(f"{path} has SHA-256 {digest}; expected {sha256}.")


def keep(out, state, **original):
    """Writes the weights of PyTorch's model, its inputs and outputs.

    Args:
        out: Path of the .npz file.
        state: Its `state_dict()`.
        **original: Arrays.
    """
    weights = {PREFIX + name: tensor.numpy() for name, tensor in state.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(out, **original, **weights)
    print(out)


def arrays(source):
    """Weights by name, and what else a file holds: inputs of the original and its outputs.

    Args:
        source: Path of the .npz file.
    """
    with np.load(source) as file:
        found = dict(file)
    weights = {
        name.removeprefix(PREFIX): value for name, value in found.items() if name.startswith(PREFIX)
    }
    return weights, {name: found[name] for name in found if not name.startswith(PREFIX)}


def save(model, out, compared, bound):
    """Writes the weights, if the model agrees with the original.

    Args:
        model: A `keras.Model` with the weights.
        out: Path of the .weights.h5 file.
        compared: Outputs of the model and of the original by name.
        bound: Largest difference.

    Raises:
        typer.Exit: If a difference is larger; nothing is written.
    """
    for name, (found, expected) in compared.items():
        gap = float(np.abs(found - expected).max())
        print(f"{name}: largest difference {gap:.1e}, largest value {np.abs(found).max():.2g}")
        if not gap < bound:
            print(f"Nothing written: the difference must be below {bound}.", file=sys.stderr)
            raise typer.Exit(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save_weights(out)
    print(out)
