"""The server of `keras-dml serve`: a REST interface to a gallery, and a page on it.

It is the one part of the package that needs FastAPI, and is imported by that command alone.
"""
