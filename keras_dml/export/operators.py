"""Operators of a .tflite file."""

import pathlib

from keras_dml.export import _flatbuffer


def operators(file):
    """Names of the operators of each subgraph of a .tflite file; every signature is a subgraph.

    A custom operator, which a device runs only with code of its own, is named `custom:` and its
    name; those named `custom:Flex...` need TensorFlow on the device.

    Args:
        file: Path of the file.

    Returns:
        A list of lists of names, in order of execution.
    """
    model = _flatbuffer.read(pathlib.Path(file).read_bytes())
    kinds = vars(_flatbuffer.schema().BuiltinOperator)
    builtin = {value: name for name, value in kinds.items() if name.isupper()}
    codes = [_name(code, builtin) for code in model.operatorCodes]
    return [[codes[op.opcodeIndex] for op in graph.operators] for graph in model.subgraphs]


def subgraph(file, signature):
    """Index and table of the subgraph of a signature, whose operators `operators` names."""
    model = _flatbuffer.read(pathlib.Path(file).read_bytes())
    key = signature.encode()
    (index,) = (s.subgraphIndex for s in model.signatureDefs if s.signatureKey == key)
    return index, model.subgraphs[index]


def check_builtin(file):
    """Refuses a file with an operator that a plain LiteRT does not have.

    Raises:
        ValueError: If there is one, in any subgraph; the message names all.
    """
    custom = sorted(
        {name for graph in operators(file) for name in graph if name.startswith("custom:")}
    )
    if custom:
        raise ValueError(
            f"{pathlib.Path(file).name} needs operators that LiteRT does not carry: "
            f"{', '.join(custom)}. Replace the layers that use them; sorting, convolution, "
            "pooling and dense layers convert to builtin operators."
        )


def _name(code, builtin):
    if code.customCode:
        return f"custom:{code.customCode.decode()}"
    # Operators up to 127 stand in the old one-byte field.
    return builtin[max(code.builtinCode, code.deprecatedBuiltinCode)]
