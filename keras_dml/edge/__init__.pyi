from ._gallery import Gallery as Gallery
from ._load import load as load
from ._model import Model as Model

__all__ = ["Gallery", "Model", "load"]
