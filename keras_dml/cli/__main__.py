"""`python -m keras_dml.cli` is `keras-dml`."""

from keras_dml.cli import main

main()
