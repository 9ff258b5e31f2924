"""What a prototypical classifier refuses before anything is made or moved."""

from keras_dml._backend import keras
from keras_dml.images import are_images
from keras_dml.losses.prototypes import PrototypicalLoss


def refuse_weights(*weights):
    if any(one is not None for one in weights):
        raise ValueError(
            "PrototypicalClassifier takes no `sample_weight` and no `class_weight`: the pair term "
            "has no weight a row. Draw rows more often instead."
        )


def check_loss(loss):
    if loss is not None and not isinstance(loss, PrototypicalLoss):
        raise ValueError(
            "PrototypicalClassifier trains by one loss: `compile(optimizer, PrototypicalLoss())`. "
            f"Received loss={loss!r}. For another train `model.encoder`."
        )


def check_encoder(encoder):
    single = len(getattr(encoder, "inputs", None) or ()) == 1
    shape = getattr(encoder, "output_shape", None) if single else None
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] is None:
        raise ValueError(
            "`encoder` must be a built model of one input that gives vectors, shape (batch, "
            f"features). Received {type(encoder).__name__} with output shape {shape}. Begin it "
            "with `keras.Input(shape)` and end it in a `keras.layers.Dense`."
        )


def check_batch(shape, dtype, wanted):
    """Refuses a single input, one of another size, and images in bytes.

    Args:
        shape: Of the given array.
        dtype: Of the given array.
        wanted: Of the encoder's input, the batch first; None is any number.
    """
    shape, wanted = tuple(shape), tuple(wanted)
    fits = len(shape) == len(wanted) and all(
        None in pair or pair[0] == pair[1] for pair in zip(shape[1:], wanted[1:], strict=True)
    )
    if not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in wanted[1:])
        raise ValueError(
            f"`x` must be a batch of shape (count, {sizes}). Received shape {shape}. A single "
            "input goes in as `x[None]`."
        )
    if are_images(wanted[1:]) and not keras.backend.is_float_dtype(dtype):
        found = keras.backend.standardize_dtype(dtype)
        raise ValueError(
            f"`x` must hold floats in [0, 1]. Received dtype {found}. Bytes become such floats by "
            '`(x / 255).astype("float32")`.'
        )
