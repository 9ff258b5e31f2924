"""Tests commands and imports in an environment with NumPy, SciPy and LiteRT only, as the extra
`edge` installs it, and in an environment with NumPy only."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import keras_dml

KERAS = ("jax", "jinja2", "keras", "matplotlib", "sklearn", "tensorflow", "tensorflow_datasets")
ALL = (*KERAS, "ai_edge_litert", "scipy")
WALKS = pathlib.Path(keras_dml.__file__).parent / "cli" / "demo_data" / "walks"

HIDE = """
import importlib.machinery, io, json, sys
absent, arguments = map(json.loads, sys.argv[1:])

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] in absent:
            return None
        return super().find_spec(name, path, target)

usual = importlib.machinery.PathFinder
sys.meta_path[:] = [Finder if finder is usual else finder for finder in sys.meta_path]
"""
RUN_COMMANDS = """
from keras_dml import cli
results, real = [], (sys.stdout, sys.stderr)
sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
for words in arguments:
    try:
        code = cli.main(words) or 0
    except SystemExit as stop:
        code = stop.code or 0
    texts = []
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
        stream.seek(0)
        stream.truncate()
    results.append([code, *texts])
sys.stdout, sys.stderr = real
print(json.dumps([results, sorted(set(absent) & set(sys.modules))]))
"""
LOAD_NAMES = """
import keras_dml
errors = {}
for name in arguments:
    place = keras_dml
    try:
        for part in name.split("."):
            place = getattr(place, part)
    except Exception as error:
        errors[name] = [type(error).__name__, str(error)]
print(json.dumps(errors))
"""

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ai_edge_litert") is None, reason="LiteRT is not installed"
)


def python(program, folder, absent, arguments):
    environment = {k: v for k, v in os.environ.items() if k != "KERAS_DML_ZOO"}
    root = str(pathlib.Path(keras_dml.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", HIDE + program, json.dumps(absent), json.dumps(arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def run_commands(folder, absent, *commands):
    """Runs commands in one process.

    Returns:
        Tuple `(results, notes)`. `results` is a list of exit status, stdout and stderr of each
        command. `notes` are the notes of all commands, which are written to a copy of stderr.
    """
    words = [line.split() for line in commands]
    (results, imported), notes = python(RUN_COMMANDS, folder, absent, words)
    assert not imported and len(results) == len(commands)
    return results, notes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Folder with walks of a person, one walk of this person and one walk of a stranger."""
    path = tmp_path_factory.mktemp("without_keras")
    (path / "alice").mkdir()
    for number in range(1, 6):
        shutil.copy(WALKS / "s21" / f"{number:02d}.csv", path / "alice")
    shutil.copy(WALKS / "s21" / "07.csv", path / "new.csv")
    shutil.copy(WALKS / "s17" / "07.csv", path / "stranger.csv")
    renamed = (path / "new.csv").read_text().replace(",x ", ",ax ", 1)
    (path / "renamed.csv").write_text(renamed)
    return path


@pytest.fixture(scope="module")
def results(folder):
    """Results of the commands, which run in this order. `{command: (code, stdout, stderr)}`"""
    commands = (
        "enroll family.db alice alice --model watch_lda --resample",
        "verify family.db alice new.csv",
        "verify family.db alice stranger.csv",
        "identify family.db new.csv",
        "identify family.db renamed.csv",
        "verify family.db alice new.csv --time when",
        "verify family.db alice new.csv --engine keras",
        "calibrate family.db people --window 1.28",
        "explain family.db alice new.csv",
        "explain family.db alice new.csv --out why",
        "export family.db --to templates",
        "export family.db --to tflite",
        "export family.db --to web",
        "export watch_lda --to tflite",
        "export watch_lda --to onnx",
        "compare new.csv stranger.csv --model mnist_proto_sim",
        "train people --out own",
        "datasets",
        "thresholds trials.csv --json",
        "thresholds trials.csv --report page.html",
    )
    trials = ("a,a,1", "b,b,2", "c,c,5", "a,b,4", "a,c,6", "b,c,7")
    (folder / "trials.csv").write_text("\n".join(["person_a,person_b,score", *trials]))
    for person, source in {"bob": "s05", "cid": "s22"}.items():
        (folder / "people" / person).mkdir(parents=True)
        for number in ("01", "02"):
            shutil.copy(WALKS / source / f"{number}.csv", folder / "people" / person)
    return dict(zip(commands, run_commands(folder, KERAS, *commands)[0], strict=True))


def test_people_are_enrolled_and_recognized(results):
    code, out, _ = results["enroll family.db alice alice --model watch_lda --resample"]
    assert code == 0 and out.startswith("alice: 5 of 5 files enrolled, 5 recordings in all\n")
    assert results["verify family.db alice new.csv"][0] == 0
    assert results["verify family.db alice stranger.csv"][0] == 1
    code, out, _ = results["identify family.db new.csv"]
    assert code == 0 and out.splitlines()[0] == "alice" and "1 person enrolled" in out
    assert results["explain family.db alice new.csv"][0] == 0
    assert results["export family.db --to templates"][:2] == [
        0,
        "family_templates.npz: 1 person, 5 recordings\n",
    ]


@pytest.mark.parametrize(
    ("command", "subject", "extras"),
    [
        ("export family.db --to tflite", "An export", ["cpu"]),
        ("export family.db --to web", "An export", ["cpu"]),
        ("export watch_lda --to tflite", "An export", ["cpu"]),
        ("export watch_lda --to onnx", "An export", ["cpu"]),
        ("train people --out own", "Training", ["cpu", "jax"]),
        ("verify family.db alice new.csv --engine keras", "--engine keras", ["cpu", "jax"]),
        (
            "compare new.csv stranger.csv --model mnist_proto_sim",
            "A model without a .tflite file",
            ["cpu", "jax"],
        ),
        ("explain family.db alice new.csv --out why", "Pictures", ["keras"]),
        ("datasets", "The list of data sets", ["data"]),
    ],
)
def test_a_command_that_needs_more_names_the_extra(results, folder, command, subject, extras):
    code, out, err = results[command]
    (line,) = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert code == 2 and not out and line.startswith(f"Error: {subject} need")
    assert [f'"keras-dml[{extra}]"' in line for extra in extras] == [True] * len(extras)
    assert line.count("keras-dml[") == len(extras)
    assert not (folder / "own").exists() and not (folder / "family_web").exists()


def test_a_missing_column_names_the_option_to_set(results):
    code, _, err = results["identify family.db renamed.csv"]
    assert code == 2 and "no column 'x'" in err and "Set --channels to" in err
    code, _, err = results["verify family.db alice new.csv --time when"]
    assert code == 2 and "no column 'when'" in err and "Set --time to" in err
    assert "--channels" not in err


def test_a_window_that_is_too_short_is_named_in_steps_and_seconds(results):
    code, _, err = results["calibrate family.db people --window 1.28"]
    assert code == 2
    assert "--window is 64 steps (1.28 s)" in err and "100 steps (2 s)" in err


def test_thresholds_of_scores_need_neither_keras_nor_scikit_learn(results, folder):
    code, out, _ = results["thresholds trials.csv --json"]
    report = json.loads(out)
    assert code == 0 and 0 < report["eer"] < 1 and report["min_cllr"] is None
    code, _, err = results["thresholds trials.csv --report page.html"]
    assert code == 2 and "keras-dml[keras]" in err and not (folder / "page.html").exists()


@pytest.mark.slow
def test_the_demo_runs_and_says_what_is_left_out(tmp_path):
    ((code, out, err),), notes = run_commands(tmp_path, KERAS, "demo")
    assert code == 0, err
    counts = json.loads((tmp_path / "keras-dml-demo" / "figures.json").read_text())["counts"]
    assert counts and all(count["right"] == count["of"] for count in counts.values())
    assert "Written to keras-dml-demo" in out
    assert 'Pictures need Matplotlib: pip install "keras-dml[keras]"' in notes
    assert 'needs Keras and TensorFlow: pip install "keras-dml[cpu]"' in notes


def test_without_litert_and_keras_commands_ask_for_the_smaller_extra(folder, results):
    commands = (
        "verify family.db alice new.csv",
        "enroll other.db alice alice --model watch_lda",
        "compare new.csv stranger.csv --model watch_lda",
        "thresholds family.db",
        "demo",
    )
    for code, _, err in run_commands(folder, ALL, *commands)[0]:
        assert code == 2 and 'pip install "keras-dml[edge]"' in err and "[cpu]" not in err
    ((code, out, _),), _ = run_commands(folder, ALL, "people family.db --json")
    assert code == 0 and json.loads(out) == {"alice": 5}


def test_names_without_their_packages_say_what_to_install(tmp_path):
    extras = {
        "Gallery": "cpu",
        "layers": "cpu",
        "zoo.load": "cpu",
        "potato.Potato": "cpu",
        "training.train": "cpu",
        "training.discriminants": "cpu",
        "evaluation.clustering": "keras",
        "evaluation.novelty": "keras",
        "reports.claims": "keras",
        "reports.style": "keras",
    }
    here = ("edge.Gallery", "edge.load", "evaluation.verification", "evaluation.Retrieval")
    errors, _ = python(LOAD_NAMES, tmp_path, KERAS, [*extras, *here])
    assert set(errors) == set(extras) - {"Gallery"}  # Keras is imported when a gallery is opened
    for name, (kind, text) in errors.items():
        assert kind == "ImportError" and f'pip install "keras-dml[{extras[name]}]"' in text, name
    assert "keras_dml.edge" in errors["zoo.load"][1]
    errors, _ = python(LOAD_NAMES, tmp_path, ALL, ["evaluation.certificate"])
    ((kind, text),) = errors.values()
    assert kind == "ImportError" and 'pip install "keras-dml[edge]"' in text


def test_the_package_runs_as_a_program():
    root = pathlib.Path(keras_dml.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "keras_dml", "--version"], cwd=root, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"keras-dml {keras_dml.__version__}\n")
