from .catalog import card as card
from .catalog import info as info
from .catalog import list_models as list_models
from .reading import check as check
from .reading import load as load

__all__ = [
    "card",
    "check",
    "info",
    "list_models",
    "load",
]
