"""Writes tests/goldens/toolbox.json with values of the real Adversarial Robustness Toolbox, in a
separate environment.

python tests/parity/toolbox.py [--check]

Standard library only, so that any interpreter runs it.
"""

from tfa import Library, main

TOOLBOX = Library(
    "the Adversarial Robustness Toolbox",
    "toolbox",
    # it imports `packaging` and does not declare it
    ("adversarial-robustness-toolbox==1.20.1", "numpy<2", "packaging"),
)

if __name__ == "__main__":
    main(TOOLBOX)
