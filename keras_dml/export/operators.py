"""Operators of a .tflite file."""

import pathlib

from keras_dml._typing import Path
from keras_dml.export import _flatbuffer


def operators(file: Path) -> list[list[str]]:
    """Returns the names of the operators of each subgraph of a .tflite file.

    Every signature is a subgraph. The name of a custom operator, for which a device needs
    additional code, begins with `custom:`. Operators named `custom:Flex...` need TensorFlow on the
    device.

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


def subgraph(file: Path, signature: str) -> tuple:
    """Returns the index and the table of the subgraph of a signature.

    Args:
        file: Path of the file.
        signature: Name of the signature.

    Returns:
        `(index, table)`: the index counts in the list that `operators` returns; the table is a
        `SubGraphT`.
    """
    model = _flatbuffer.read(pathlib.Path(file).read_bytes())
    key = signature.encode()
    (index,) = (s.subgraphIndex for s in model.signatureDefs if s.signatureKey == key)
    return index, model.subgraphs[index]


def check_builtin(file: Path) -> None:
    """Raises an error if a file has an operator that LiteRT does not contain.

    Args:
        file: Path of the file.

    Raises:
        ValueError: If any subgraph has such an operator; the message names all of them.
    """
    custom = sorted(
        {name for graph in operators(file) for name in graph if name.startswith("custom:")}
    )
    if custom:
        raise ValueError(
            f"{pathlib.Path(file).name} needs operators that LiteRT does not contain: "
            f"{', '.join(custom)}. Replace the layers that use these operators. LiteRT contains "
            "the operators of sorting, convolution, pooling and dense layers."
        )


def _name(code, builtin):
    if code.customCode:
        return f"custom:{code.customCode.decode()}"
    # Operators up to 127 are stored in the old field of one byte.
    return builtin[max(code.builtinCode, code.deprecatedBuiltinCode)]
