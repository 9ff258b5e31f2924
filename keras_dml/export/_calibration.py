"""Ranges of the activations of an int8 file: what they nearly always are, not what they once were.

The converter takes the extremes of the calibrating recordings. Activations have heavy tails (steps
of a walk: 17 standard deviations), so 256 values between the extremes leave 8 for one standard
deviation. On two gait encoders and people they were not trained on, extremes gave drifts of 0.18
and 0.14 and changes in AUC of -.0060 and -.0034; quantiles 0.11, 0.10, +.0001 and -.0001.
"""

import numpy as np

from keras_dml.export import _flatbuffer, operators

BEYOND = 5e-4  # share of values cut off at each end; 1e-4 and 2e-4 gave changes in AUC of -.002
MOST_STEPS = 200  # of one recording


def ranges(file, recordings, last):
    """Ranges of the activations of the encoder, over recordings.

    What the last convolution gives keeps the extremes: the lowest and the highest value of a filter
    are knots of a quantile function.

    Args:
        file: A float32 .tflite file with the signature `embed`.
        recordings: Arrays `(time, channels)`, float32.
        last: Place of the last convolution among the operators of `embed`.

    Returns:
        Dict from the name of a tensor to its range, which includes 0 as int8 needs it.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    place, graph = operators.subgraph(file, "embed")
    float32 = _flatbuffer.schema().TensorType.FLOAT32
    watched = {
        int(i)
        for op in graph.operators[:last]
        for i in op.outputs
        if graph.tensors[i].type == float32
    }
    interpreter = Interpreter(
        model_path=str(file),
        num_threads=1,
        experimental_preserve_all_tensors=True,
        # a delegate does not fill the tensors inside its part
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    embed = interpreter.get_signature_runner("embed")
    seen = {i: [] for i in watched}
    for recording in recordings:
        embed(signal=recording[None], length=np.array(len(recording), np.int32))
        for i, values in seen.items():
            values.append(_some(interpreter.get_tensor(i, place)))
    return {graph.tensors[i].name: _range(np.concatenate(each)) for i, each in seen.items()}


def narrow(blob, found):
    """A calibrated model with ranges in place of its own.

    Args:
        blob: Bytes of a model that the converter has calibrated.
        found: What `ranges` gives.

    Returns:
        Bytes.
    """
    model = _flatbuffer.read(blob)
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            calibrated = tensor.quantization is not None and tensor.quantization.min is not None
            if calibrated and tensor.name in found:
                low, high = found[tensor.name]
                tensor.quantization.min = np.array([low], np.float32)
                tensor.quantization.max = np.array([high], np.float32)
    return _flatbuffer.write(model)


def _some(tensor):
    # Whole steps, evenly spread: all filters count, and a reshaped tensor gets its source's range.
    steps = tensor.reshape(-1, tensor.shape[-1])
    return steps[:: -(-len(steps) // MOST_STEPS)].ravel().copy()


def _range(values):
    low, high = np.quantile(values, [BEYOND, 1 - BEYOND])
    return min(low, 0.0), max(high, 0.0)
