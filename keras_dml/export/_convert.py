"""Converts a module with signatures to the bytes of a .tflite file (float32, float16 or int8)."""

import copy
import os.path
import pathlib
import tempfile

import numpy as np

from keras_dml import inputs
from keras_dml._backend.tensorflow import tensorflow
from keras_dml.export import _flatbuffer, operators, signatures
from keras_dml.export._quiet import quiet

# An int8 file computes in int8 from the first convolution to the last convolution, and in dense
# layers. Three parts stay in float: the layers before the first convolution (int8 would change
# quiet mel bands by 10 log units), the pooling over time, and the distance. The ranks and quotients
# in these parts need more than the 256 values of int8. Distances change by 11 % if pooling is in
# int8, and by 2 % if pooling is in float.
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
# In models that take images, the means over pixels are also in int8, and the embedding is in float.
OF_IMAGES = BETWEEN | {DENSE, "MEAN"}
# Fractions of activation values that are cut off at each end of the int8 range. The converter
# itself uses the smallest and largest values on the calibration recordings (fraction 0).
# Activations have heavy tails: on walks they reach 17 standard deviations. If the 256 int8 values
# cover this whole range, only 8 of them fall into one standard deviation. We measured two gait
# encoders of sixteen layers on people who were not in the training data. With fraction 0, the
# drifts of the two encoders were 0.18 and 0.14, and their AUC changed by -.0060 and -.0034. With
# fraction 5e-4, the drifts of the two encoders were 0.11 and 0.10, and their AUC changed by +.0001
# and -.0001. Fraction 0 is better for a shallow encoder in which the most extreme values matter. So
# `convert` writes one candidate per fraction, and `tflite` keeps the candidate with the smallest
# drift.
FRACTIONS = (0.0, 1e-4, 5e-4, 2e-3)
FILL_VALUE = 1e30  # activations of this size are fill values of masked steps
MAX_STEPS = 200  # number of time steps of a recording whose activations are sampled
# A constant becomes float16 if it has at least this number of elements. The converter has the same
# limit for int8 weights.
MIN_ELEMENTS = 1024
DEQUANTIZE_VERSION = 3  # first version of the operator that reads float16


def convert(module, kind, quantization, representative=None, metadata=None):
    """Converts a module to one or more .tflite files that have only builtin operators.

    Args:
        module: `tf.Module` that `signatures.for_one` returned.
        kind: Input kind of the model (see `keras_dml.inputs`).
        quantization: `None` (float32), `"float16"`, `"dynamic"` or `"int8"`.
        representative: Inputs of the model, such as recordings, that calibrate int8.
        metadata: Dict from the names of metadata entries to their bytes.

    Returns:
        List with the bytes of each candidate. For int8, the list has one candidate per fraction in
        `FRACTIONS`. For all other quantizations, the list has one candidate.

    Raises:
        ValueError: If an operator of the model has no builtin counterpart.
    """
    names = signatures.names(module)
    examples = [kind.single(item, module.steps) for item in representative or []]
    with tempfile.TemporaryDirectory() as folder, quiet():
        signatures.write(module, folder)
        try:
            if quantization == "int8":
                blobs = _int8(folder, names, kind, examples)
            else:
                blobs = [_converter(folder, names, quantization).convert()]
        except Exception as error:
            if type(error).__name__ != "ConverterError":  # TensorFlow does not export this class
                raise
            raise ValueError(f"The model does not convert to TFLite: {_summary(error)}") from error
    return [_finish(blob, quantization, metadata or {}, module.input_shapes) for blob in blobs]


def _finish(blob, quantization, metadata, shapes):
    """Stores weights as float16, removes unused tables, and adds shapes and metadata."""
    model = _flatbuffer.read(blob)
    # in int8 files the weights of a learned similarity are float
    if quantization in ("float16", "int8"):
        halve_weights(model)
    _flatbuffer.drop_unread(model)
    _flatbuffer.declare_shapes(model, shapes)
    for name, data in metadata.items():
        _flatbuffer.attach(model, name, data)
    return _flatbuffer.write(model)


def _converter(folder, names, quantization):
    tf = tensorflow()
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=names)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantization in ("dynamic", "int8"):
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return converter


def _int8(folder, names, kind, examples):
    """Converts a SavedModel to files whose encoder is int8 and whose other parts are float.

    The quantization debugger is the only public way to keep operators of a TFLite file in float.
    Only the signatures that use inputs of the model are calibrated. Operators without calibration
    statistics stay float, for example all operators of `distance` and `score`.
    """
    lite = tensorflow().lite
    encoding = [name for name in signatures.ENCODING if name in names]

    def calibration():
        for arguments in examples:
            for name in encoding:
                yield name, arguments

    class PartialDebugger(lite.experimental.QuantizationDebugger):
        def _initialize_stats(self):
            """Skips the statistics, which raise an error if the first subgraph is not int8."""

    float32_file = pathlib.Path(folder, "float32.tflite")
    float32_file.write_bytes(_converter(folder, names, None).convert())
    float_nodes, values = [], {}
    graphs = [operators.subgraph(float32_file, name) for name in encoding]
    graph_operators = operators.operators(float32_file)
    # `classify` begins with the operators of `embed`, and the operators of the similarity follow.
    count = len(os.path.commonprefix([graph_operators[index] for index, _ in graphs]))
    for name, (index, graph) in zip(encoding, graphs, strict=True):
        ops = graph_operators[index]
        is_int8 = _are_int8(ops[:count], isinstance(kind, inputs.Images))
        is_int8 += [False] * (len(ops) - count)
        float_nodes += [
            graph.tensors[i].name.decode()
            for op, is_quantized in zip(graph.operators, is_int8, strict=True)
            for i in ([] if is_quantized else op.outputs)
        ]
        values |= activations(float32_file, name, examples, _last_convolution(ops))
    options = lite.experimental.QuantizationDebugOptions(denylisted_nodes=float_nodes)
    converter = _converter(folder, names, "int8")
    converter.representative_dataset = calibration
    debugger = PartialDebugger(
        converter=converter, debug_dataset=calibration, debug_options=options
    )
    calibrated, blobs = without_fill_values(debugger.calibrated_model), []
    for fraction in FRACTIONS:
        debugger.calibrated_model = narrow(calibrated, values, fraction)
        blobs.append(debugger.get_nondebug_quantized_model())
    return blobs


def _are_int8(ops, of_images):
    """Selects the operators of an encoder that an int8 file converts to int8.

    Args:
        ops: Names of the operators, in order of execution.
        of_images: Whether the inputs of the encoder are images.

    Returns:
        List with True or False for each operator.
    """
    first = next((i for i, op in enumerate(ops) if op in CONVOLUTIONS), len(ops))
    if of_images:
        return [i >= first and op in OF_IMAGES for i, op in enumerate(ops)]
    last = max((i for i, op in enumerate(ops) if op in CONVOLUTIONS | ACTIVATIONS), default=-1)
    return [op == DENSE or (first <= i <= last and op in BETWEEN) for i, op in enumerate(ops)]


def _last_convolution(ops):
    return max((i for i, op in enumerate(ops) if op in CONVOLUTIONS), default=0)


def _summary(error):
    """Returns those lines of a converter's error message that name operators."""
    lines = dict.fromkeys(str(error).strip().splitlines())
    operator_lines = [line.strip() for line in lines if "ops:" in line.lower()]
    return "; ".join(operator_lines) or next(iter(lines), "no message")


def activations(file, signature, examples, last):
    """Samples values of the encoder's activations while the encoder processes examples.

    The function leaves out the activations of the last convolution and of later layers, so that
    `narrow` does not change the int8 ranges of these layers. The smallest and the largest value of
    each filter must remain inside these ranges, because these two values are knots of a quantile
    function.

    Args:
        file: Path of a float32 .tflite file.
        signature: Name of a signature that receives inputs of the model.
        examples: Arguments of the signature for each example, such as a recording and its length.
        last: Index of the last convolution among the operators of the signature.

    Returns:
        Dict from the name of a tensor to a sample of its values.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    index, graph = operators.subgraph(file, signature)
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
        # A delegate does not store the intermediate tensors of the part of the graph that it runs.
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    runner = interpreter.get_signature_runner(signature)
    samples = {i: [] for i in watched}
    for arguments in examples:
        runner(**arguments)
        for i, values in samples.items():
            values.append(_sample(interpreter.get_tensor(i, index)))
    return {graph.tensors[i].name: np.concatenate(values) for i, values in samples.items()}


def without_fill_values(blob):
    """Removes fill values from the int8 ranges of a calibrated model.

    A layer that sorts replaces masked steps by the largest float. The operators that read these
    steps stay float. But the converter uses the range of the result for the operators before, whose
    int8 values would then all be 0.

    Args:
        blob: Bytes of a model that the converter calibrated.

    Returns:
        Bytes of the model in which a range that holds fill values is the range of its sources.
    """
    model = _flatbuffer.read(blob)
    for graph in model.subgraphs:
        for operator in graph.operators:
            tensors = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
            ranges = [t.quantization for t in tensors if t.quantization is not None]
            ranges = [table for table in ranges if table.max is not None and len(table.max)]
            usual = [table.max[0] for table in ranges if table.max[0] < FILL_VALUE]
            for table in ranges:
                if table.max[0] >= FILL_VALUE and usual:
                    table.max = np.array([max(usual)], np.float32)
    return _flatbuffer.write(model)


def narrow(blob, values, fraction):
    """Narrows the int8 ranges of a calibrated model, so that the ranges leave out the most extreme
    values.

    Args:
        blob: Bytes of a model that the converter calibrated.
        values: Samples of the activations that `activations` returned.
        fraction: Fraction of the values that are left out at each end of a range. If `fraction` is
            0, the ranges do not change.

    Returns:
        Bytes of the model with narrower ranges.
    """
    if fraction == 0:
        return blob
    model = _flatbuffer.read(blob)
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            calibrated = tensor.quantization is not None and tensor.quantization.min is not None
            if calibrated and tensor.name in values:
                low, high = np.quantile(values[tensor.name], [fraction, 1 - fraction])
                # the range of int8 must contain 0
                tensor.quantization.min = np.array([min(low, 0)], np.float32)
                tensor.quantization.max = np.array([max(high, 0)], np.float32)
    return _flatbuffer.write(model)


def _sample(tensor):
    # The sample contains the values of all filters at evenly spaced time steps, so that no filter
    # is left out, and so that a reshaped tensor gets the same range as its source.
    steps = tensor.reshape(-1, *tensor.shape[-1:])
    return steps[:: -(-len(steps) // MAX_STEPS)].ravel().copy()


def halve_weights(model):
    """Stores the large float32 constants of a model as float16.

    For each of these constants, the file contains an operator that runs once and converts the
    constant back to float32. The converter has a float16 option, but that option rounds every
    constant. The option rounds a constant of 1e-12 to 0, although this constant prevents a division
    by zero. As a result, a distance becomes NaN, and knots of quantile functions change by 2e-4.
    Only weights are so large that float16 saves space.

    Args:
        model: `ModelT` of a float32 file, which the function changes in place.
    """
    kinds = _flatbuffer.schema()
    halved = set()
    code = len(model.operatorCodes)
    for graph in model.subgraphs:
        for i, tensor in enumerate(list(graph.tensors)):
            data = model.buffers[tensor.buffer].data
            if (
                tensor.type != kinds.TensorType.FLOAT32
                or data is None
                or np.prod(tensor.shape) < MIN_ELEMENTS
            ):
                continue
            if tensor.buffer not in halved:
                halved.add(tensor.buffer)
                weights = np.frombuffer(data.tobytes(), np.float32).astype(np.float16)
                model.buffers[tensor.buffer].data = np.frombuffer(weights.tobytes(), np.uint8)
            _widen(graph, i, code)
    if halved:
        model.operatorCodes.append(_dequantize())


def _widen(graph, i, code):
    """Converts tensor `i` of a graph to float16, and adds a float32 copy that operators read."""
    kinds = _flatbuffer.schema()
    tensor = graph.tensors[i]
    wide = copy.copy(tensor)
    wide.buffer = 0  # buffer 0 is empty, because the tensor is computed and not stored
    tensor.type = kinds.TensorType.FLOAT16
    graph.tensors.append(wide)
    for reader in graph.operators:
        reader.inputs = np.where(reader.inputs == i, len(graph.tensors) - 1, reader.inputs).astype(
            np.int32
        )
    operator = kinds.OperatorT()
    operator.opcodeIndex = code
    operator.inputs = np.array([i], np.int32)
    operator.outputs = np.array([len(graph.tensors) - 1], np.int32)
    operator.builtinOptionsType = kinds.BuiltinOptions.DequantizeOptions
    operator.builtinOptions = kinds.DequantizeOptionsT()
    graph.operators.insert(0, operator)


def _dequantize():
    kinds = _flatbuffer.schema()
    code = kinds.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = kinds.BuiltinOperator.DEQUANTIZE
    code.version = DEQUANTIZE_VERSION
    return code
