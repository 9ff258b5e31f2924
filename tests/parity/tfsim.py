"""Writes tests/goldens/tfsim.json with values that TensorFlow Similarity computes in a separate
environment.

python tests/parity/tfsim.py [--check]

The script imports only the standard library, so that any interpreter can run it.
"""

from tfa import Library, main

TFSIM = Library(
    "TensorFlow Similarity",
    "tfsim",
    ("tensorflow-cpu==2.15.1", "tensorflow-similarity==0.17.1", "numpy<2"),
)

if __name__ == "__main__":
    main(TFSIM)
