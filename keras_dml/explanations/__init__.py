"""Explains which moments, channels or regions make two recordings different or similar."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
