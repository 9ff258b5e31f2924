"""Checks that padding does not change embeddings, and names the layers that drop masks."""

import re

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml._messages import Message
from keras_dml.export import parity
from keras_dml.export._quiet import quiet

MOST_CHARACTERS = 400  # of an error of Keras or TensorFlow


def check(module, kind, trials, bound):
    """Checks that the signature `embed` of a module ignores the steps from `length` on.

    The check runs before the weights are quantized, so that rounding does not hide an effect of
    padding. The padding is NaN.

    Args:
        module: Result of `signatures.for_one` with `steps`.
        kind: Input kind of the encoder of the module (see `keras_dml.inputs`).
        trials: `Trials` with recordings.
        bound: Largest allowed RMS difference between embeddings of padded recordings and embeddings
            of the same recordings without padding, divided by the RMS of the embeddings.

    Raises:
        ParityError: If the difference exceeds the bound. The message names the layers that drop
            masks.
    """
    recordings = [np.asarray(x, np.float32) for x in trials.recordings[: trials.typical]]
    with quiet():  # Keras warns of layers that drop masks
        embeddings = [kind.model(recording[None], training=False) for recording in recordings]
        try:
            padded = [_embed(module, kind, recording) for recording in recordings]
        except Exception as error:  # a layer that cannot use the mask raises any error
            raise parity.ParityError(
                Message(
                    "{steps} is {value}, but the model cannot compute padded recordings: {reason} "
                    "Nothing was written. Leave out {steps}, because a file for any number of "
                    "steps needs no masks.",
                    value=module.steps,
                    reason=reason(error),
                )
            ) from error
    expected = np.concatenate([ops.convert_to_numpy(embedding) for embedding in embeddings])
    change = parity.relative_rms(np.concatenate(padded), expected)
    if not change <= bound:
        raise parity.ParityError(
            Message(
                "{steps} is {value}, but padding changes the embeddings of the model by "
                "{change:.2g} of their RMS, which is more than {bound}. Nothing was written. "
                "{cause} Or leave out {steps}, because a file for any number of steps needs no "
                "masks.",
                value=module.steps,
                change=change,
                bound=bound,
                cause=cause(kind.model),
            )
        )


def reason(error):
    """Returns the first lines of an error of Keras or TensorFlow, which name the layer."""
    text = re.sub(r"\x1b\[\d*m", "", str(error))  # Keras prints bold text
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:2])[:MOST_CHARACTERS].rstrip(".") + "."


def cause(model):
    """Describes, for error messages, why padding changes the embeddings of a model."""
    names = list(dict.fromkeys(_dropping(model)))
    reason = (
        f"These layers drop masks: {', '.join(names)}."
        if names
        else "All layers declare that they keep masks, but a layer that normalizes or averages "
        "over time may count padding."
    )
    return f"{reason} Use layers that ignore padding, such as `keras_dml.layers.MaskedConv1D`."


def _embed(module, kind, recording):
    arguments = kind.single(recording, module.steps)
    arguments["signal"][:, len(recording) :] = np.nan
    (embedding,) = module.embed(**arguments).values()
    return embedding.numpy()


def _dropping(model):
    """Yields the names of the operations with a time axis that drop masks.

    An operation of `keras.ops`, such as a sum of two tensors, drops the mask of its inputs.
    """
    for operation in getattr(model, "operations", model.layers):
        if isinstance(operation, keras.Model):
            yield from _dropping(operation)
        elif not getattr(operation, "supports_masking", False) and _has_time(operation):
            yield operation.name


def _has_time(operation):
    tensors = [tensor for node in operation._inbound_nodes for tensor in node.input_tensors]
    return any(len(tensor.shape) > 2 and tensor.shape[1] is None for tensor in tensors)
