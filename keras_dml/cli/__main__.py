"""Runs `keras-dml` as `python -m keras_dml.cli`."""

from keras_dml.cli import main

main()
