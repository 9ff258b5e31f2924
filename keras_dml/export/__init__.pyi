from . import edge_metadata as edge_metadata
from . import litert as litert
from . import onnx_files as onnx_files
from . import operators as operators
from . import parity as parity
from . import signatures as signatures
from . import streaming as streaming
from . import trials as trials
from ._bundle import bundle as bundle
from ._contract import contract as contract
from ._devices import device_model as device_model
from ._devices import works_on_matrices as works_on_matrices
from ._microcontroller import UnsupportedModelError as UnsupportedModelError
from ._microcontroller import microcontroller as microcontroller
from ._onnx import onnx as onnx
from ._potato import potato as potato
from ._saved_model import saved_model as saved_model
from ._stream import stream as stream
from ._tflite import tflite as tflite
from .result import Export as Export
from .result import MicrocontrollerExport as MicrocontrollerExport
from .streaming import StreamError as StreamError

__all__ = [
    "Export",
    "MicrocontrollerExport",
    "StreamError",
    "UnsupportedModelError",
    "bundle",
    "contract",
    "device_model",
    "microcontroller",
    "onnx",
    "potato",
    "saved_model",
    "stream",
    "tflite",
    "works_on_matrices",
]
