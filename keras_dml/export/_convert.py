"""From a module with signatures to the bytes of a .tflite file."""

import pathlib
import tempfile

import numpy as np

from keras_dml.export import _calibration, _flatbuffer, operators, signatures
from keras_dml.export._half import halve_weights
from keras_dml.export._quiet import quiet

# What an int8 file computes in int8: the convolutions and what stands between them. The read-out
# and the distance stay float: ranks and quotients do not survive 256 values (an int8 read-out moves
# distances by 11 %, a float one after the same encoder by 2 %).
CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
COMPUTING = CONVOLUTIONS | {"AVERAGE_POOL_2D", "LEAKY_RELU", "MAX_POOL_2D", "PRELU", "RELU"}
INT8_OPERATORS = COMPUTING | {
    "BATCH_TO_SPACE_ND",
    "EXPAND_DIMS",
    "PAD",
    "RESHAPE",
    "SPACE_TO_BATCH_ND",
}


def convert(module, quantization, representative=None):
    """Candidates for a .tflite file with the signatures of a module, of builtin operators only.

    Args:
        module: What `signatures.for_one` gives.
        quantization: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        representative: Recordings `(time, channels)` that calibrate int8.

    Returns:
        List of bytes: one, or for int8 one for each way to set its ranges.

    Raises:
        ValueError: If an operator of the model has no builtin counterpart.
    """
    with tempfile.TemporaryDirectory() as folder, quiet():
        signatures.write(module, folder)
        try:
            if quantization == "int8":
                blobs = _int8(folder, representative)
            else:
                blobs = [_converter(folder, quantization).convert()]
        except Exception as error:
            if type(error).__name__ != "ConverterError":  # a class that TensorFlow does not export
                raise
            raise ValueError(f"The model does not convert to TFLite: {_essence(error)}") from error
    return [_finished(blob, quantization) for blob in blobs]


def _finished(blob, quantization):
    model = _flatbuffer.read(blob)
    if quantization == "float16":
        halve_weights(model)
    _flatbuffer.drop_names(model)
    return _flatbuffer.write(model)


def _converter(folder, quantization):
    tf = signatures.tensorflow()
    converter = tf.lite.TFLiteConverter.from_saved_model(
        str(folder), signature_keys=list(signatures.NAMES)
    )
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantization in ("dynamic", "int8"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter


def _int8(folder, representative):
    """Files with the encoder in int8; normalisation, read-out and distance in float.

    TFLite's converter has no public way to leave operators in float but that of its quantization
    debugger. Only `embed` is calibrated; what has no statistics, all of `distance`, stays float by
    itself.
    """
    lite = signatures.tensorflow().lite

    def calibration():
        for recording in representative:
            yield "embed", {"signal": recording[None], "length": np.array(len(recording), np.int32)}

    class Partly(lite.experimental.QuantizationDebugger):
        def _initialize_stats(self):
            """Skips the debugger's own statistics, which fail on a first subgraph without int8."""

    plain = pathlib.Path(folder, "float32.tflite")
    plain.write_bytes(_converter(folder, None).convert())
    place, graph = operators.subgraph(plain, "embed")
    names = operators.operators(plain)[place]
    end = 1 + max((i for i, name in enumerate(names) if name in COMPUTING), default=-1)
    options = lite.experimental.QuantizationDebugOptions(
        denylisted_ops=sorted({*names} - INT8_OPERATORS),
        denylisted_nodes=[
            graph.tensors[i].name.decode() for op in graph.operators[end:] for i in op.outputs
        ],
    )
    converter = _converter(folder, "int8")
    converter.representative_dataset = calibration
    debugger = Partly(converter=converter, debug_dataset=calibration, debug_options=options)
    last = max((i for i, name in enumerate(names) if name in CONVOLUTIONS), default=0)
    seen = _calibration.activations(plain, representative, last)
    calibrated, blobs = debugger.calibrated_model, []
    for share in _calibration.SHARES:
        debugger.calibrated_model = _calibration.narrow(calibrated, seen, share)
        blobs.append(debugger.get_nondebug_quantized_model())
    return blobs


def _essence(error):
    """The lines of a converter's message that name operators; the rest lists the graph."""
    lines = dict.fromkeys(str(error).strip().splitlines())
    named = [line.strip() for line in lines if "ops:" in line.lower()]
    return "; ".join(named) or next(iter(lines), "no message")
