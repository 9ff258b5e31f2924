"""Tests of the command line: help, version, errors, exit statuses, `list` and `card`."""

import contextlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import cli, zoo
from keras_dml.gallery.records import Records
from keras_dml.zoo import headline

COMMANDS = ("demo", "gait", "list", "card", "datasets", "export")
GALLERY_COMMANDS = (
    *("enroll", "verify", "identify", "listen", "explain"),
    *("calibrate", "people", "remove", "merge", "serve", "rename", "recordings", "forget"),
    *("reject", "thresholds", "info", "backup", "restore", "compare"),
)


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], *([name] for name in COMMANDS + GALLERY_COMMANDS)])
def test_every_command_has_a_page_of_help_with_an_example(command, words):
    path = ["demo", "gait"] if words == ["gait"] else words
    code, out, _ = command(*path, "--help")
    assert code == 0
    assert "Example: keras-dml" in out


def test_paragraphs_of_help_have_no_line_breaks():
    """Typer prints the line breaks of a docstring, so that lines are broken twice on a terminal
    that is narrower than the source code."""
    texts = [command.callback.__doc__ for command in cli.app.registered_commands]
    assert len(texts) > 20
    for text in texts:
        assert "\n\n" in text and "\n" not in text.replace("\n\n", " "), text


def test_help_is_printed_without_a_command(command):
    code, out, err = command()
    assert code == 2
    assert "demo" in out + err


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "words",
    [
        *(["dmeo"], ["card"], ["list", "--all"], ["datasets", "x"], ["export", "x"]),
        *(["enroll", "a.db", "alice"], ["verify", "a.db"], ["identify", "a.db", "--top", "0"]),
    ],
)
def test_wrong_use_exits_with_2(command, words):
    assert command(*words)[0] == 2


def test_the_version_is_printed(command):
    assert command("--version")[:2] == (0, f"keras-dml {keras_dml.__version__}\n")


@pytest.mark.slow_on_jax
def test_an_unknown_model_is_one_clear_error_with_the_nearest_name(command, zoo_folder):
    for words in (["card", "gait_qp_vl"], ["export", "gait_qp_vl", "--to", "tflite"]):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        assert "Error: Unknown model 'gait_qp_vl'. Did you mean 'gait_qp_wl'" in err
        assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "kind", "part"),
    [
        (["card", "gait_qp_vl"], "ValueError", "Did you mean 'gait_qp_wl'"),
        (["export", "gait_qp_vl", "--to", "tflite"], "ValueError", "Unknown model"),
        (["verify", "gone.db", "alice", "a.csv"], "FileNotFoundError", "'gone.db'"),
        (["people", "gone.db"], "FileNotFoundError", "gone.db"),
        (["info", "gone.db"], "FileNotFoundError", "gone.db"),
        (["train", "gone", "--out", "new"], "FileNotFoundError", "'gone'"),
        (["recordings", "family.db", "zoe"], "KeyError", "Nobody named 'zoe'"),
        (["verify", "family.db"], "MissingParameter", "person"),
        (["people", "family.db", "--colour"], "NoSuchOption", "--colour"),
        (["calibrate", "family.db", "--far", "2"], "BadParameter", "above 0 and below 1"),
        (["identify", "family.db", "a.csv", "--top", "none"], "BadParameter", "--top"),
        (["prople"], "UsageError", "prople"),
    ],
)
def test_json_errors_are_one_object(command, zoo_folder, tmp_path, monkeypatch, words, kind, part):
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(Records("family.db")) as store:
        store.add("alice", np.zeros((1, 2)))
    for arguments in ([*words, "--json"], [words[0], "--json", *words[1:]]):
        code, out, err = command(*arguments)
        assert code == 2 and "Error" not in err and "Usage" not in err
        (error,) = json.loads(out).values()
        assert error["type"] == kind and part in error["message"]
    code, out, err = command(*words, "--json", "--debug")
    assert code == 2 and json.loads(out)["error"]["type"] == kind and "Traceback" in err
    code, out, err = command(*words)
    assert (code, out) == (2, "") and err


@pytest.mark.slow_on_jax
def test_results_and_answers_keep_their_status_with_json(command, zoo_folder, tmp_path):
    assert command("list", "--json")[0] == 0
    assert command("card", "gait_qp_wl", "--json")[0] == 0
    code, out, _ = command("people", "--help", "--json")
    assert code == 0 and "Example" in out
    file = tmp_path / "--json"  # after `--`, this is a path and not an option
    code, out, err = command("people", "--", file.name)
    assert (code, out) == (2, "") and "Error" in err


@pytest.mark.slow_on_jax
def test_debug_shows_the_traceback_wherever_it_stands(command, zoo_folder):
    for words in (["--debug", "card", "nobody"], ["card", "nobody", "--debug"]):
        code, out, err = command(*words)
        assert (code, out) == (2, "")
        assert err.startswith("Traceback") and "ValueError: Unknown model 'nobody'" in err


def test_list_prints_the_task_of_each_model(command, zoo_folder):
    code, out, _ = command("list")
    assert code == 0
    for part in (
        "gait_qp_wl",
        "vowels_qp_wl",
        "12 channels",
        "EER 4.3 % [2.1 to 6.0]",
        "36 people",
    ):
        assert part in out
    assert "license: CC0; the weights too" in out
    assert "in products: ask" in out


def test_an_empty_zoo_says_how_to_get_models(command, zoo_folder):
    for folder in zoo_folder.iterdir():
        (folder / "card.json").unlink()
    code, _, err = command("list")
    assert code == 2
    assert "No model was found" in err


def test_json_contains_the_same_figures(command, zoo_folder):
    card = zoo.card("gait_qp_wl")
    assert json.loads(command("card", "gait_qp_wl", "--json")[1]) == card
    summaries = json.loads(command("list", "--json")[1])
    assert summaries["gait_qp_wl"]["figures"] == card["figures"]
    assert summaries["gait_qp_wl"]["licence"] == card["data"]["licence"]
    assert summaries["gait_qp_wl"]["in_products"] == "ask"


def test_a_card_is_printed_completely(command, zoo_folder):
    code, out, _ = command("card", "gait_qp_wl")
    assert code == 0
    for part in (
        "LAX, LAY, LAZ, LRX, LRY, LRZ",
        "7 steps or more at 100 Hz",
        "CC0; the weights too",
        "2 trained on, 0 tested on",
        "2.1 % ± 0.3",
        "One walk against another. The same threshold is used for all 72 probes of 36 people.",
        "4.3 % [2.1 to 6.0]",
        "0.5 to 2.0 %",
        "90.0 % [85.0 to 95.0]",
        "- It was never trained.",
    ):
        assert part in out, part


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.list_models())
def test_a_card_shows_the_figures_of_every_method(command, name):
    code, out, _ = command("card", name)
    page = "".join(out.split())
    _, rows = headline.table(zoo.card(name))
    assert code == 0
    for part in {part for row in rows for cell in row[1:] for part in cell.split()}:
        assert part in page


def test_the_card_of_a_folder_is_printed(command, zoo_folder, tmp_path, monkeypatch):
    shutil.copytree(zoo_folder / "gait_qp_wl", tmp_path / "phone")
    monkeypatch.chdir(tmp_path)
    for path in ("phone", "./phone", tmp_path / "phone"):
        assert command("card", path) == command("card", "gait_qp_wl")
    code, _, err = command("card", "./walks")
    assert code == 2 and "no card.json in 'walks'. Give the folder of a model" in err


def test_a_card_describes_its_figures(command, zoo_folder):
    file = zoo_folder / "gait_qp_wl" / "card.json"
    text = "Cross-validated: everybody was left out once [of five]."
    file.write_text(json.dumps({**json.loads(file.read_text()), "figures_are": text}))
    assert text in command("card", "gait_qp_wl")[1]


@pytest.mark.slow
def test_reading_commands_load_no_keras(zoo_folder, tmp_path):
    db = str(tmp_path / "family.db")
    with contextlib.closing(Records(db)) as store:
        store.add("alice", np.zeros((1, 2)))
    copy = str(tmp_path / "copy.db")
    summaries = [
        *(["list"], ["card", "gait_qp_wl"], ["datasets"], ["people", db], ["info", db]),
        *(["thresholds", db], ["recordings", db, "alice"], ["reject", db, "alice", "--list"]),
        *(["backup", db, copy], ["restore", copy, f"{copy}2"], ["rename", copy, "alice", "ann"]),
    ]
    code = (
        "import sys; from keras_dml import cli\n"
        f"for words in {[*summaries, ['remove', db, 'alice']]}:\n"
        "    try: cli.main(words)\n"
        "    except SystemExit: pass\n"
        "print(*({'keras', 'tensorflow', 'jax'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    notes = [line for line in done.stderr.splitlines() if not line.startswith("Note: the copy")]
    assert (done.returncode, [line for line in notes if line]) == (0, [])
