"""Weights in half precision, all other constants as they are."""

import copy

import numpy as np

from keras_dml.export._flatbuffer import schema

MIN_ELEMENTS = 1024  # the converter's own limit for int8 weights
DEQUANTIZE_VERSION = 3  # the first that reads float16


def halve_weights(model):
    """Stores the large float32 constants of a model as float16, each turned back by an operator
    that runs once.

    The converter's own float16 rounds every constant: a guard of 1e-12 becomes 0 and a distance
    NaN, and knots move by 2e-4. Only weights are large enough to matter.

    Args:
        model: `ModelT` of a float32 file, changed in place.
    """
    kinds = schema()
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
    """Makes tensor `i` of a graph float16, and gives its readers a float32 copy."""
    kinds = schema()
    tensor = graph.tensors[i]
    wide = copy.copy(tensor)
    wide.buffer = 0  # the empty one: computed, not stored
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
    kinds = schema()
    code = kinds.OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = kinds.BuiltinOperator.DEQUANTIZE
    code.version = DEQUANTIZE_VERSION
    return code
