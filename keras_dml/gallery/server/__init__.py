"""The server of a gallery: a REST interface and a page.

The server is the only part of the package that needs FastAPI. `keras-dml serve` runs it, and
`keras_dml.gallery.asgi` is the application for other ASGI servers.
"""
