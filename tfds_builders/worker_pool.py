"""`python -m tfds_builders.worker_pool --service_port=50000` starts Beam's worker pool.

Beam's own command starts each worker by the name `python`. Without an activated environment, this
name leads to another interpreter or to no program, and the pipeline waits silently. This module
ensures that `python` is the interpreter that runs the pool.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys


def set_path() -> None:
    """Makes the folder of the running interpreter the first entry of the environment variable PATH.

    Raises:
        FileNotFoundError: If the folder has no program `python` that is the running interpreter.
    """
    folder = pathlib.Path(sys.executable).parent
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    python = shutil.which("python")
    if python is None or not os.path.samefile(python, sys.executable):
        raise FileNotFoundError(
            f"Beam starts workers by the name `python`, and {folder} has no such program that is "
            f"{sys.executable}. Run the pool in a virtual environment: python -m venv FOLDER"
        )


def main() -> None:
    """Runs the worker pool until it is stopped."""
    try:
        set_path()
        from apache_beam.runners.worker import worker_pool_main
    except FileNotFoundError as error:
        sys.exit(f"Error: {error}.")
    except ImportError as error:
        sys.exit(f'Error: a worker pool needs pip install "keras-dml[beam]" ({error}).')
    worker_pool_main.main(sys.argv)


if __name__ == "__main__":
    main()
