"""Galleries of people: verification, identification and rejection of strangers.

A `Gallery` holds people who are enrolled under one model. It is a SQLite file of embeddings, or a
database of PostgreSQL with pgvector. Functions such as `people`, `remove` and `info` work on a
gallery without loading the model. Names load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
