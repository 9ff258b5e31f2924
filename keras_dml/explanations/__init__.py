"""Explanations of the distance between two recordings by moments, channels and regions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
