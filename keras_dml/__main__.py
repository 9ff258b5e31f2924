"""Runs `keras-dml` as `python -m keras_dml`."""

from keras_dml.cli import main

main()
