from ._load import can_load as can_load
from ._load import load as load
from ._model import Model as Model
from .gallery import Gallery as Gallery

__all__ = ["Gallery", "Model", "can_load", "load"]
