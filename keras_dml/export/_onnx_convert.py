"""Converts signatures to ONNX graphs."""

import numpy as np

from keras_dml import inputs
from keras_dml.export._quiet import quiet

OPSET = 18
SELECTIONS = ("Select", "SelectV2")
DFT_PARTS = ("Real", "Imag")  # operators that read the result of a Fourier transform
TIME, ROWS = "time", "n"  # names of axes of any size: time steps, and rows of a gallery


def convert(module, name, metadata):
    """Converts a signature to a model of the package `onnx`.

    Args:
        module: `tf.Module` that `signatures.for_one` returned.
        name: Name of the signature.
        metadata: Dict from the names of metadata entries to their texts.

    Returns:
        `onnx.ModelProto` with operators of the standard domain only.

    Raises:
        ValueError: If an operator of the model has no counterpart in ONNX.
    """
    import onnx

    with quiet():
        import tf2onnx

        function = getattr(module, name)
        model, _ = tf2onnx.convert.from_function(
            function,
            input_signature=function.input_signature,
            opset=OPSET,
            custom_rewriter=[_keep_selections, _write_dft_as_products, _write_erfc_as_erf],
        )
    _store_constants(model, function.get_concrete_function())
    _check_operators(model)
    del model.opset_import[:]  # tf2onnx also imports domains that no operator needs
    model.opset_import.append(onnx.helper.make_opsetid("", OPSET))
    model.graph.name = name
    _declare_shapes(model, module.input_shapes)
    onnx.helper.set_model_props(model, metadata)
    onnx.checker.check_model(model, full_check=True)
    return model


def _keep_selections(graph, nodes):
    """Marks selections, so that tf2onnx converts them to the operator `Where`.

    By default, tf2onnx converts a selection to `c * x + (1 - c) * y`. If the branch that is not
    selected holds NaN, the result would be NaN.
    """
    for node in nodes:
        if node.type in SELECTIONS:
            node.set_attr("handles_nan", True)
        for body in (node.get_body_graphs() or {}).values():
            _keep_selections(body, body.get_nodes())
    return graph.get_nodes()


def _write_dft_as_products(graph, nodes):
    """Replaces Fourier transforms of real frames by products with a cosine and a sine matrix.

    ONNX has a Fourier transform (`DFT`), but tf2onnx does not use it. tf2onnx converts only the
    magnitude of a Fourier transform, and not its real and imaginary parts. If the frames are padded
    with zeros, the product leaves out the padding.
    """
    from tf2onnx import utils

    for node in [node for node in nodes if node.type == "RFFT"]:
        readers = graph.find_output_consumers(node.output[0])
        length = int(node.inputs[1].get_tensor_value(as_list=False).item())
        frames, samples = _unpadded(graph, node.input[0])
        if samples is None or any(reader.type not in DFT_PARTS for reader in readers):
            continue
        turns = np.outer(np.arange(samples), np.arange(length // 2 + 1)) % length / length
        parts = {"Real": np.cos(2 * np.pi * turns), "Imag": -np.sin(2 * np.pi * turns)}
        for reader in readers:
            output = reader.output[0]
            dtype, shape = graph.get_dtype(output), graph.get_shape(output)
            matrix = parts[reader.type].astype(utils.map_onnx_to_numpy_type(dtype))
            constant = graph.make_const(utils.make_name(f"{reader.type}_of_dft"), matrix)
            product = [frames, constant.output[0]]
            graph.remove_node(reader.name)
            graph.make_node("MatMul", product, outputs=[output], dtypes=[dtype], shapes=[shape])
        graph.remove_node(node.name)
    return graph.get_nodes()


def _write_erfc_as_erf(graph, nodes):
    """Replaces erfc(x), which Keras uses in GELU, by 1 - erf(x), because ONNX has no erfc."""
    from tf2onnx import utils

    for node in [node for node in nodes if node.type == "Erfc"]:
        (source,), (output,) = node.input, node.output
        dtype, shape = graph.get_dtype(output), graph.get_shape(output)
        graph.remove_node(node.name)
        erf = graph.make_node("Erf", [source], dtypes=[dtype], shapes=[shape])
        unit = np.ones((), utils.map_onnx_to_numpy_type(dtype))
        constant = graph.make_const(utils.make_name("unit"), unit)
        difference = [constant.output[0], erf.output[0]]
        graph.make_node("Sub", difference, outputs=[output], dtypes=[dtype], shapes=[shape])
    return graph.get_nodes()


def _unpadded(graph, name):
    """Returns the name and the length of frames before zeros were appended.

    The length is None if it is unknown.
    """
    node = graph.get_node_by_output(name)
    if node.type == "Pad" and node.inputs[1].is_const():
        padding = node.inputs[1].get_tensor_value(as_list=False)
        if np.count_nonzero(padding) == np.count_nonzero(padding[-1, 1]):
            name = node.input[0]
    shape = graph.get_shape(name)
    is_known = shape is not None and shape[-1] > 0
    return name, shape[-1] if is_known else None


def _store_constants(model, function):
    """Stores tensors in a model that the layers hold outside of their weights.

    A layer such as `keras.layers.Normalization(mean=..., variance=...)` holds tensors, which
    TensorFlow passes to the graph as further arguments. tf2onnx stores weights only.

    Args:
        model: `onnx.ModelProto`, which the function changes.
        function: Concrete function from which the model was converted.
    """
    import onnx

    captured = {inner.name: outer for outer, inner in function.graph.captures}
    for value in [each for each in model.graph.input if each.name in captured]:
        array = captured[value.name].numpy()
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
        model.graph.input.remove(value)


def _check_operators(model):
    """Raises an error if a model has operators that are not operators of ONNX."""
    import onnx

    unknown = {
        node.op_type
        for graph in _graphs(model.graph)
        for node in graph.node
        if node.domain or not onnx.defs.has(node.op_type)
    }
    if unknown:
        raise ValueError(
            "The model does not convert to ONNX, because ONNX Runtime cannot run these operators "
            f"of TensorFlow: {', '.join(sorted(unknown))}. Replace the layers that use these "
            "operators, or export the model by `keras_dml.export.saved_model`, which keeps all "
            "operators of TensorFlow."
        )


def _graphs(graph):
    """Yields a graph and the bodies of its loops and branches."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                if body.node:
                    yield from _graphs(body)


def _declare_shapes(model, shapes):
    """Writes the shapes of arguments and results into a model.

    ONNX Runtime then refuses arguments of another shape. An axis of any size has a name.

    Args:
        model: `onnx.ModelProto`, which the function changes.
        shapes: Dict from the names of arguments to their shapes, as in `module.input_shapes`.
    """
    shapes = {**shapes, "distance": (None,), "similarity": (None,)}
    for value in [*model.graph.input, *model.graph.output]:
        if value.name not in shapes:
            continue
        declared = value.type.tensor_type.shape
        del declared.dim[:]
        for size in shapes[value.name]:
            dimension = declared.dim.add()
            if size is None:
                dimension.dim_param = TIME if value.name == inputs.Signals.arguments[0] else ROWS
            else:
                dimension.dim_value = size
