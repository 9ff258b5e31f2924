"""Command `python -m tfds_builders.worker_pool --service_port=50000`, which starts the worker pool
of Beam.

The worker pool runs the program `python` for each worker. Without an activated environment,
`python` may be another interpreter or may not exist. The pipeline then waits without a message.
This module ensures that `python` is the interpreter that runs the pool.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys


def set_path() -> None:
    """Puts the folder of the running interpreter first in the environment variable PATH.

    Raises:
        FileNotFoundError: If the folder of the running interpreter has no program `python`, or if
            this program is not the running interpreter.
    """
    folder = pathlib.Path(sys.executable).parent
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    python = shutil.which("python")
    if python is None or not os.path.samefile(python, sys.executable):
        raise FileNotFoundError(
            "Beam starts workers with the command `python`, but this command does not start "
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
