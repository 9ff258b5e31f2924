"""A sequence encoder whose filters are shifted by statistics of the whole recording."""

from keras_dml._backend import keras
from keras_dml.layers import LaggedCorrelation, LDAShift


def with_shift(encoder, lags, discriminants):
    """The encoder with `LDAShift` before its head, driven by lagged correlations of the normalized
    recording.

    Not in the papers. The new model shares the encoder's layers and has two more, `correlations`
    and `shift`. Its outputs are those of the encoder until `shift` gets weights, in closed form
    (`zoo/discriminants.py`) or by training.

    Args:
        encoder: A model of `sequence_encoder`.
        lags: Lags of the correlations of channels, in steps; see `LaggedCorrelation`.
        discriminants: Number of filters that are shifted, the first ones.

    Returns:
        A `keras.Model` with the input and the head of the encoder, not compiled.

    Raises:
        ValueError: If the model is not such an encoder or is shifted already, the lags are not
            valid for `LaggedCorrelation`, or there are fewer filters than discriminants.

    Example:
        >>> encoder = keras_dml.models.sequence_encoder(6)
        >>> keras_dml.models.with_shift(encoder, (0, 4, 8), 32).get_layer("shift").units
        32
    """
    graph = isinstance(encoder, keras.Model) and not isinstance(encoder, keras.Sequential)
    names = [layer.name for layer in encoder.layers] if graph else []
    if "normalization" not in names:
        raise ValueError(
            "with_shift takes an encoder of `keras_dml.models.sequence_encoder`, or another "
            "functional model with a layer `normalization` and a head after its filters. Received "
            f"{encoder!r}, layers {names}."
        )
    if "shift" in names:
        raise ValueError(
            "The encoder has a layer `shift` already: give that one other weights, or start from "
            "the encoder without it."
        )
    head = encoder.layers[-1]
    normalized = encoder.get_layer("normalization").output
    correlations = LaggedCorrelation(lags, name="correlations")(normalized)
    moved = LDAShift(discriminants, name="shift")([head.input, correlations])
    return keras.Model(encoder.input, head(moved), name=encoder.name)
