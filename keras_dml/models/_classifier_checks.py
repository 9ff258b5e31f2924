"""Checks of a prototypical classifier before anything is built or changed."""

from keras_dml._backend import keras
from keras_dml.images import are_images
from keras_dml.losses.prototypes import PrototypicalLoss


def refuse_weights(model, *weights):
    """Refuses weights of rows and of classes.

    Args:
        model: Model that was given them.
        *weights: Weights; all must be None.
    """
    if any(one is not None for one in weights):
        raise ValueError(
            f"{type(model).__name__} takes no `sample_weight` and no `class_weight`: its losses "
            "have no sample weights, since a pair of rows has none. Draw rows more often instead."
        )


def check_loss(loss):
    """Refuses a loss other than `PrototypicalLoss`; None is its default."""
    if loss is not None and not isinstance(loss, PrototypicalLoss):
        raise ValueError(
            "PrototypicalClassifier trains by one loss: `compile(optimizer, PrototypicalLoss())`. "
            f"Received loss={loss!r}. For another train `model.encoder`."
        )


def check_encoder(encoder):
    """Refuses an encoder that is not built, has several inputs, or does not return vectors."""
    single = len(getattr(encoder, "inputs", None) or ()) == 1
    shape = getattr(encoder, "output_shape", None) if single else None
    if not isinstance(shape, tuple) or len(shape) != 2 or shape[1] is None:
        raise ValueError(
            "`encoder` must be a built model of one input that returns vectors, shape (batch, "
            f"features). Received {type(encoder).__name__} with output shape {shape}. Begin it "
            "with `keras.Input(shape)` and end it in a `keras.layers.Dense`."
        )


def check_batch(shape, dtype, wanted):
    """Refuses a single input, one of another size, and images in bytes.

    Args:
        shape: Shape of the given array.
        dtype: Type of the given array.
        wanted: Shape of the encoder's input, the batch first; None is any number.
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
    check_float_images(dtype, wanted)


def check_float_images(dtype, wanted):
    """Refuses images in bytes.

    Args:
        dtype: Type of the given array.
        wanted: Shape of the encoder's input, the batch first.
    """
    if are_images(wanted[1:]) and not keras.backend.is_float_dtype(dtype):
        found = keras.backend.standardize_dtype(dtype)
        raise ValueError(
            f"`x` must hold floats in [0, 1]. Received dtype {found}. Bytes become such floats by "
            '`(x / 255).astype("float32")`.'
        )
