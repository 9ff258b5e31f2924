"""Defines the option that chooses the numeric precision in which an encoder is trained."""

import contextlib
import enum
from typing import Annotated

import typer

from keras_dml._backend import keras


class Precision(enum.StrEnum):
    """Keras dtype policies for the training. The saved model always uses float32."""

    float32 = "float32"
    mixed_bfloat16 = "mixed_bfloat16"


Option = Annotated[
    Precision,
    typer.Option(
        "--precision",
        help="Precision in which the encoder is trained. mixed_bfloat16 takes two thirds of the "
        "time on a processor with AMX.",
    ),
]


@contextlib.contextmanager
def layers_in(precision):
    """Context manager in which layers are built that compute in `precision`. Outside of it, new
    layers compute in float32.
    """
    keras.config.set_dtype_policy(Precision(precision).value)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")
