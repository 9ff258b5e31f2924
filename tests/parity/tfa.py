"""Writes tests/goldens/tfa.json with values that TensorFlow Addons computes in a separate
environment.

python tests/parity/tfa.py [--check]

The script imports only the standard library, so that any interpreter can run it.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
PYTHONS = [(3, 9), (3, 10), (3, 11)]  # versions for which TensorFlow 2.15 has wheels
RTOL, ATOL = 1e-5, 1e-6  # float32 on another processor


@dataclasses.dataclass(frozen=True)
class Library:
    """Library whose values `KEY_cases.py` prints and `tests/goldens/KEY.json` stores."""

    title: str
    key: str
    requirements: tuple[str, ...]

    @property
    def golden(self):
        return FOLDER.parent / "goldens" / f"{self.key}.json"


TFA = Library(
    "TensorFlow Addons",
    "tfa",
    ("tensorflow-cpu==2.15.1", "tensorflow-addons==0.23.0", "numpy<2"),
)


def environment(library, folder, python):
    """Returns the interpreter of an environment that contains the library. The environment is built
    if it does not exist.
    """
    result = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not result.exists():
        print(f"Building an environment of {library.title} in {folder}", file=sys.stderr)
        subprocess.run([python, "-m", "venv", folder], check=True)
        install = [result, "-m", "pip", "install", "--quiet", *library.requirements]
        subprocess.run(install, check=True)
    return result


def values(library, interpreter):
    """Returns the text that `KEY_cases.py` prints in the environment."""
    done = subprocess.run(
        [interpreter, FOLDER / f"{library.key}_cases.py"],
        stdout=subprocess.PIPE,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        text=True,
        check=True,
    )
    return done.stdout


def differences(old, new, path):
    """Lists the places where two documents differ by more than float32 rounding, with one line per
    place.
    """
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return [line for key in old for line in differences(old[key], new[key], f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [line for i, (a, b) in pairs for line in differences(a, b, f"{path}[{i}]")]
    numbers = [type(value) in (int, float) for value in (old, new)]
    if all(numbers) and math.isclose(old, new, rel_tol=RTOL, abs_tol=ATOL):
        return []
    return [] if old == new else [f"{path}: {old!r} is now {new!r}"]


def check_python(library, python):
    """Ends the script with a message if the requirements do not support the interpreter."""
    command = [python, "-c", "import sys; print(*sys.version_info[:2])"]
    version = tuple(map(int, subprocess.check_output(command, text=True).split()))
    if version not in PYTHONS:
        valid = ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)
        sys.exit(
            f"{library.title} has wheels for Python {valid}; {python} is "
            f"{version[0]}.{version[1]}. Name another interpreter: --python python3.11"
        )


def main(library):
    golden = library.golden
    options = argparse.ArgumentParser(
        description=f"Writes tests/goldens/{golden.name} with values of {library.title}, which "
        "runs in a separate environment."
    )
    options.add_argument("--check", action="store_true", help="compare, write nothing")
    options.add_argument("--python", default=sys.executable, help="Python 3.9 to 3.11")
    options.add_argument("--env", type=pathlib.Path, help="folder in which to keep the environment")
    given = options.parse_args()
    check_python(library, given.python)
    with tempfile.TemporaryDirectory() as room:
        folder = given.env or pathlib.Path(room) / "env"
        text = values(library, environment(library, folder, given.python))
    if not given.check:
        beside = golden.with_suffix(".part")
        beside.write_text(text)
        beside.replace(golden)
        print(f"Wrote {len(json.loads(text)['cases'])} cases to {golden}")
        return
    old, new = json.loads(golden.read_text()), json.loads(text)
    moved = [line for key in ("inputs", "cases") for line in differences(old[key], new[key], key)]
    print(*moved, f"{len(moved)} differences in {len(new['cases'])} cases", sep="\n")
    sys.exit(bool(moved))


if __name__ == "__main__":
    main(TFA)
