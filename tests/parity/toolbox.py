"""Makes tests/goldens/toolbox.json from the real Adversarial Robustness Toolbox, in an environment
of its own.

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
