"""Writes tests/goldens/toolbox.json with values that the Adversarial Robustness Toolbox computes in
a separate environment.

python tests/parity/toolbox.py [--check]

The script imports only the standard library, so that any interpreter can run it.
"""

from tfa import Library, main

TOOLBOX = Library(
    "the Adversarial Robustness Toolbox",
    "toolbox",
    # The toolbox imports `packaging`, but does not declare this requirement.
    ("adversarial-robustness-toolbox==1.20.1", "numpy<2", "packaging"),
)

if __name__ == "__main__":
    main(TOOLBOX)
