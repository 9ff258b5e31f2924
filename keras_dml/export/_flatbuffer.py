"""Reads the FlatBuffer of a .tflite file, and writes it with each vector stored only once.

The converter stores the same short vectors (shapes, zero points) again for every tensor. For every
intermediate result, the converter also stores a name and a quantization table. The name is the path
in the source graph, and the quantization table is mostly empty. In a file of 200 KB with the `edge`
encoder, the repeated vectors, the names and the quantization tables take 37 to 44 KB. No runtime
reads the names, and several tensors of a FlatBuffer may share a vector.
"""

import functools

import numpy as np

ALIGNMENT = 16  # bytes. The schema of TFLite requires this alignment of the data of tensors.
IDENTIFIER = b"TFL3"
# Offsets in the tables of the TFLite schema (schema.fbs): 4 for the first field of a table, 6 for
# the second field, and so on.
BUFFERS, METADATA = 12, 16  # of the table Model
NAME, BUFFER = 4, 6  # of the table Metadata
DATA = 4  # of the table Buffer


def schema():
    """Returns the module of LiteRT that has a class for each table in a .tflite file."""
    from ai_edge_litert import schema_py_generated

    return schema_py_generated


def read(blob):
    """Parses a .tflite file and returns its tables as a `ModelT`.

    Args:
        blob: Bytes of the file.
    """
    return schema().ModelT.InitFromObj(schema().Model.GetRootAs(bytes(blob)))


def write(model):
    """Returns the bytes of a .tflite file that stores each vector once.

    Args:
        model: `ModelT`.
    """
    builder = _sharing_builder()(0)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def drop_unread(model):
    """Removes the names of inner tensors, and all quantization tables without a scale, in place.

    Signatures, inputs and outputs keep their names.

    Args:
        model: `ModelT`.
    """
    for graph in model.subgraphs:
        named = {*graph.inputs, *graph.outputs}
        for i, tensor in enumerate(graph.tensors):
            if i not in named:
                tensor.name = None
            table = tensor.quantization
            if table is not None and table.scale is None and table.details is None:
                tensor.quantization = None


def declare_shapes(model, shapes):
    """Writes the argument shapes of all signatures into a model, in place.

    The graphs themselves accept any shape, so that each graph can check the shape of its inputs. If
    a runtime resizes inputs in strict mode, it refuses shapes that differ from the declared shapes.

    Args:
        model: `ModelT`.
        shapes: Dict from the names of arguments to their shapes. Scalar arguments are not listed.
            An axis may have any size if its entry in the shape is None.
    """
    for signature in model.signatureDefs:
        graph = model.subgraphs[signature.subgraphIndex]
        for argument in signature.inputs:
            shape = shapes.get(argument.name.decode())
            if shape is not None:
                tensor = graph.tensors[argument.tensorIndex]
                tensor.shape = np.array([1 if size is None else size for size in shape], np.int32)
                signed = [-1 if size is None else size for size in shape]
                tensor.shapeSignature = np.array(signed, np.int32) if -1 in signed else None


def attach(model, name, data):
    """Adds a metadata entry to a model, or replaces the data of an entry, in place.

    Args:
        model: `ModelT`.
        name: Name of the entry.
        data: Bytes of the entry.
    """
    kinds = schema()
    entries = model.metadata or []
    entry = next((entry for entry in entries if entry.name == name.encode()), None)
    if entry is None:
        entry = kinds.MetadataT()
        entry.name, entry.buffer = name.encode(), len(model.buffers)
        model.buffers.append(kinds.BufferT())
        model.metadata = [*entries, entry]
    model.buffers[entry.buffer].data = np.frombuffer(data, np.uint8)


def metadata(blob, name):
    """Returns the bytes of a metadata entry of a .tflite file, or None if it does not exist.

    The function reads the fields itself, because the import of `schema` takes 35 ms, which is a
    tenth of the time of a command.

    Args:
        blob: Bytes of the file.
        name: Name of the entry.

    Raises:
        ValueError: If the file ends within the entry, or does not contain its data. Other errors
            are possible if the file is damaged.
    """
    from flatbuffers import encode, number_types, packer, table

    blob = bytes(blob)

    def child(parent, field, i):
        start = parent.Vector(parent.Offset(field))
        position = start + number_types.UOffsetTFlags.bytewidth * i
        return table.Table(blob, parent.Indirect(position))

    model = table.Table(blob, encode.Get(packer.uoffset, blob, 0))
    has_entries = model.Offset(METADATA) != 0
    for i in range(model.VectorLen(model.Offset(METADATA)) if has_entries else 0):
        entry = child(model, METADATA, i)
        field = entry.Offset(NAME)  # 0 if the entry has no name
        if field and entry.String(entry.Pos + field) == name.encode():
            number = entry.GetSlot(BUFFER, 0, number_types.Uint32Flags)
            buffer = child(model, BUFFERS, number)
            if not buffer.Offset(DATA):
                raise ValueError(f"the entry {name!r} has no data")
            start, count = buffer.Vector(buffer.Offset(DATA)), buffer.VectorLen(buffer.Offset(DATA))
            if len(blob) < start + count:
                raise ValueError(f"the entry {name!r} ends after the end of the file")
            return blob[start : start + count]
    return None


@functools.cache
def _sharing_builder():
    import flatbuffers  # TensorFlow and LiteRT install this package

    class SharingBuilder(flatbuffers.Builder):
        """Builder that writes equal vectors only once and aligns the data of tensors.

        The builder of the package `flatbuffers` does not align the data of tensors.
        """

        def __init__(self, size):
            super().__init__(size)
            self._offsets = {}

        def CreateNumpyVector(self, x):
            key = (x.dtype.str, x.tobytes())
            if key not in self._offsets:
                if x.dtype == np.uint8:
                    self.Prep(ALIGNMENT, x.size)
                self._offsets[key] = super().CreateNumpyVector(x)
            return self._offsets[key]

    return SharingBuilder
