"""From a module with signatures to the bytes of a .tflite file."""

import os.path
import pathlib
import tempfile

from keras_dml import inputs
from keras_dml._backend.tensorflow import tensorflow
from keras_dml.export import _calibration, _contract, _flatbuffer, operators, signatures
from keras_dml.export._half import halve_weights
from keras_dml.export._quiet import quiet

# What an int8 file computes in int8: from the first convolution to the last, and dense layers. What
# comes before (normalization, mel bands: quiet ones move by 10 log units), the read-out of a
# recording and the distance stay float: ranks and quotients do not survive 256 values (an int8
# read-out moves distances by 11 %, a float one after the same encoder by 2 %).
CONVOLUTIONS = frozenset({"CONV_2D", "DEPTHWISE_CONV_2D"})
ACTIVATIONS = frozenset({"LEAKY_RELU", "PRELU", "RELU", "RELU6"})
BETWEEN = (
    CONVOLUTIONS
    | ACTIVATIONS
    | {
        "ADD",
        "AVERAGE_POOL_2D",
        "BATCH_TO_SPACE_ND",
        "EXPAND_DIMS",
        "MAX_POOL_2D",
        "MUL",
        "PAD",
        "RESHAPE",
        "SPACE_TO_BATCH_ND",
        "SQUEEZE",
    }
)
DENSE = "FULLY_CONNECTED"
# Of images the means over pixels too: the embedding is the first that is float again.
OF_IMAGES = BETWEEN | {DENSE, "MEAN"}


def convert(module, taken, quantization, representative=None, carried=None):
    """Candidates for a .tflite file with the signatures of a module, of builtin operators only.

    Args:
        module: Result of `signatures.for_one`.
        taken: What the model takes, one of `keras_dml.inputs`.
        quantization: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        representative: Recordings, or what else the model takes, that calibrate int8.
        carried: Bytes of `_contract.carried`, or None.

    Returns:
        List of bytes: one, or for int8 one for each way to set its ranges.

    Raises:
        ValueError: If an operator of the model has no builtin counterpart.
    """
    names = signatures.names(module)
    with tempfile.TemporaryDirectory() as folder, quiet():
        signatures.write(module, folder)
        try:
            if quantization == "int8":
                blobs = _int8(folder, names, taken, representative)
            else:
                blobs = [_converter(folder, names, quantization).convert()]
        except Exception as error:
            if type(error).__name__ != "ConverterError":  # a class that TensorFlow does not export
                raise
            raise ValueError(f"The model does not convert to TFLite: {_essence(error)}") from error
    return [_finished(blob, quantization, carried, module.input_shapes) for blob in blobs]


def _finished(blob, quantization, carried, shapes):
    model = _flatbuffer.read(blob)
    if quantization in ("float16", "int8"):  # of int8 the weights that stayed float: a similarity's
        halve_weights(model)
    _flatbuffer.drop_unread(model)
    _flatbuffer.declare_shapes(model, shapes)
    if carried is not None:
        _flatbuffer.attach(model, _contract.METADATA, carried)
    return _flatbuffer.write(model)


def _converter(folder, names, quantization):
    tf = tensorflow()
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=names)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantization in ("dynamic", "int8"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter


def _int8(folder, names, taken, representative):
    """Files with the encoder in int8; what comes before it, read-out, distance and similarity in
    float.

    TFLite's converter has no public way to leave operators in float but that of its quantization
    debugger. Only the signatures that begin with the model's input are calibrated; what has no
    statistics, all of `distance` and `score`, stays float by itself.
    """
    lite = tensorflow().lite
    encoding = [name for name in signatures.ENCODING if name in names]

    def calibration():
        for recording in representative:
            for name in encoding:
                yield name, taken.single(recording)

    class Partly(lite.experimental.QuantizationDebugger):
        def _initialize_stats(self):
            """Skips the debugger's own statistics, which fail on a first subgraph without int8."""

    plain = pathlib.Path(folder, "float32.tflite")
    plain.write_bytes(_converter(folder, names, None).convert())
    in_float, seen = [], {}
    graphs = [operators.subgraph(plain, name) for name in encoding]
    every = operators.operators(plain)
    # `classify` begins with the operators of `embed`; a similarity follows
    count = len(os.path.commonprefix([every[index] for index, _ in graphs]))
    for name, (index, graph) in zip(encoding, graphs, strict=True):
        kinds = every[index]
        chosen = _in_int8(kinds[:count], isinstance(taken, inputs.Images))
        chosen += [False] * (len(kinds) - count)
        in_float += [
            graph.tensors[i].name.decode()
            for op, is_chosen in zip(graph.operators, chosen, strict=True)
            for i in ([] if is_chosen else op.outputs)
        ]
        seen |= _calibration.activations(plain, name, taken, representative, _last(kinds))
    options = lite.experimental.QuantizationDebugOptions(denylisted_nodes=in_float)
    converter = _converter(folder, names, "int8")
    converter.representative_dataset = calibration
    debugger = Partly(converter=converter, debug_dataset=calibration, debug_options=options)
    calibrated, blobs = debugger.calibrated_model, []
    for fraction in _calibration.FRACTIONS:
        debugger.calibrated_model = _calibration.narrow(calibrated, seen, fraction)
        blobs.append(debugger.get_nondebug_quantized_model())
    return blobs


def _in_int8(kinds, of_images):
    """Which operators of an encoder an int8 file computes in int8.

    Args:
        kinds: Names of the operators, in order of execution.
        of_images: Whether the encoder is one of images.

    Returns:
        List of booleans.
    """
    first = next((i for i, kind in enumerate(kinds) if kind in CONVOLUTIONS), len(kinds))
    if of_images:
        return [i >= first and kind in OF_IMAGES for i, kind in enumerate(kinds)]
    last = max(
        (i for i, kind in enumerate(kinds) if kind in CONVOLUTIONS | ACTIVATIONS), default=-1
    )
    return [
        kind == DENSE or (first <= i <= last and kind in BETWEEN) for i, kind in enumerate(kinds)
    ]


def _last(kinds):
    return max((i for i, kind in enumerate(kinds) if kind in CONVOLUTIONS), default=0)


def _essence(error):
    """The lines of a converter's message that name operators; the rest lists the graph."""
    lines = dict.fromkeys(str(error).strip().splitlines())
    named = [line.strip() for line in lines if "ops:" in line.lower()]
    return "; ".join(named) or next(iter(lines), "no message")
