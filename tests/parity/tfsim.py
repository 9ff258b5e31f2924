"""Writes tests/goldens/tfsim.json with values of the real TensorFlow Similarity, in a separate
environment.

python tests/parity/tfsim.py [--check]

Standard library only, so that any interpreter runs it.
"""

from tfa import Library, main

TFSIM = Library(
    "TensorFlow Similarity",
    "tfsim",
    ("tensorflow-cpu==2.15.1", "tensorflow-similarity==0.17.1", "numpy<2"),
)

if __name__ == "__main__":
    main(TFSIM)
