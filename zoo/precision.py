"""Option of the numeric precision in which an encoder is trained."""

import contextlib
import enum
from typing import Annotated

import typer

from keras_dml._backend import keras


class Precision(enum.StrEnum):
    """Keras's dtype policies. The saved model always has float32."""

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
    """Layers that are built in this context compute in `precision`; later layers compute in
    float32.
    """
    keras.config.set_dtype_policy(Precision(precision).value)
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")
