from ._load import can_load as can_load
from ._load import load as load
from ._load import load_stream as load_stream
from ._model import Model as Model
from ._stream import Stream as Stream
from ._stream import StreamWindow as StreamWindow
from ._stream_model import StreamModel as StreamModel
from .gallery import Gallery as Gallery

__all__ = [
    "Gallery",
    "Model",
    "Stream",
    "StreamModel",
    "StreamWindow",
    "can_load",
    "load",
    "load_stream",
]
