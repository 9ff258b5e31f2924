"""Numbers that an encoder is trained in."""

import contextlib
import enum
from typing import Annotated

import typer

from keras_dml._backend import keras


class Precision(enum.StrEnum):
    """Keras's policies; the model that is kept has float32."""

    float32 = "float32"
    mixed_bfloat16 = "mixed_bfloat16"


Option = Annotated[
    Precision,
    typer.Option(
        "--precision",
        help="Of the encoder's training; mixed_bfloat16 takes two thirds of the time on a "
        "processor that multiplies in it (AMX).",
    ),
]


@contextlib.contextmanager
def layers_in(precision):
    """Layers built inside compute in a precision, those built later in float32 again."""
    keras.config.set_dtype_policy(Precision(precision).value)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")
