from . import distances as distances
from . import edge as edge
from . import evaluation as evaluation
from . import explanations as explanations
from . import export as export
from . import gallery as gallery
from . import geometry as geometry
from . import inference as inference
from . import inputs as inputs
from . import layers as layers
from . import losses as losses
from . import models as models
from . import potato as potato
from . import quality as quality
from . import recordings as recordings
from . import reports as reports
from . import samplers as samplers
from . import scoring as scoring
from . import training as training
from . import zoo as zoo
from .explanations import explain as explain
from .gallery import Gallery as Gallery
from .inference import distance as distance
from .inference import embed as embed

__version__: str

__all__ = [
    "Gallery",
    "distance",
    "distances",
    "edge",
    "embed",
    "evaluation",
    "explain",
    "explanations",
    "export",
    "gallery",
    "geometry",
    "inference",
    "inputs",
    "layers",
    "losses",
    "models",
    "potato",
    "quality",
    "recordings",
    "reports",
    "samplers",
    "scoring",
    "training",
    "zoo",
]
