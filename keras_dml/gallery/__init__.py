"""Galleries of people: verification, identification and rejection of strangers.

A `Gallery` stores people who are enrolled under one model, in a SQLite file or in a PostgreSQL
database with the extension pgvector. Templates are the stored embeddings of recordings. Functions
such as `people`, `remove` and `info` work on a gallery without loading the model. A module of this
package is imported when a name from the module is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
