"""The web server of a gallery: a REST interface and a web page.

No other folder of the package needs FastAPI. `keras-dml serve` runs the server, and other ASGI
servers run the application `keras_dml.gallery.asgi:application`.
"""
