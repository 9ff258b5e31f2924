"""Lists and checks the operators of a .tflite file."""

import pathlib
from typing import Any

from keras_dml._typing import Path
from keras_dml.export import _flatbuffer


def operators(file: Path) -> list[list[str]]:
    """Returns the names of the operators of each subgraph of a .tflite file.

    Each signature is a subgraph. Names of custom operators begin with `custom:`, and a device needs
    additional code to run them. Operators named `custom:Flex...` need TensorFlow on the device.

    Args:
        file: Path of the file.

    Returns:
        List with one list of operator names per subgraph, in order of execution.
    """
    model = _flatbuffer.read(pathlib.Path(file).read_bytes())
    kinds = vars(_flatbuffer.schema().BuiltinOperator)
    builtin = {value: name for name, value in kinds.items() if name.isupper()}
    codes = [_name(code, builtin) for code in model.operatorCodes]
    return [[codes[op.opcodeIndex] for op in graph.operators] for graph in model.subgraphs]


def subgraph(file: Path, signature: str) -> tuple[Any, ...]:
    """Returns the index and the table of the subgraph that belongs to a signature.

    Args:
        file: Path of the file.
        signature: Name of the signature.

    Returns:
        `(index, table)`. `index` is the position in the list that `operators` returns, and `table`
        is a `SubGraphT`.
    """
    model = _flatbuffer.read(pathlib.Path(file).read_bytes())
    key = signature.encode()
    (index,) = (s.subgraphIndex for s in model.signatureDefs if s.signatureKey == key)
    return index, model.subgraphs[index]


def check_builtin(file: Path) -> None:
    """Raises an error if a file needs operators that LiteRT does not contain.

    Args:
        file: Path of the file.

    Raises:
        ValueError: If any subgraph has an operator that LiteRT does not contain. The message names
            all missing operators.
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
    # The codes of operators up to 127 are stored in an older field of one byte.
    return builtin[max(code.builtinCode, code.deprecatedBuiltinCode)]
