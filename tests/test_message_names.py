"""Tests that the command line and other interfaces define a spelling for each argument and function
that an error message names."""

import ast
import pathlib

import pytest
import typer

from keras_dml import _messages, cli
from keras_dml._messages import Message
from keras_dml.cli import _exports, _options, merge, rename, train
from keras_dml.gallery.server import errors

PACKAGE = pathlib.Path(__file__).parent.parent / "keras_dml"
SPELLINGS = {  # of the commands that print the messages of a folder
    "export": [_exports.NAMES],
    "gallery": [_options.GALLERY_NAMES | _exports.NAMES],
    "recordings": [_options.READING_NAMES, _options.GALLERY_NAMES, train.NAMES],
    "training": [train.NAMES],
}
IN_PYTHON_ONLY = {  # names in messages that commands do not print, or print as they are
    "export": {"block", "model", "people", "recordings", "window"},
    "gallery": {
        *("chunk", "client", "gallery", "name", "options", "other", "people", "recording"),
        *("scores", "sessions", "sources", "start", "tries", "unfit()"),
    },
    "recordings": {"read_pieces()", "units"},
    "training": {"count", "files", "names", "people", "recordings", "sessions"},
}
FILES = {
    folder: sorted(path for path in (PACKAGE / folder).rglob("*.py") if "server" not in path.parts)
    for folder in SPELLINGS
}
THRESHOLDS = PACKAGE / "evaluation" / "_thresholds.py"  # `keras-dml calibrate` prints its messages
NOT_IN_REST = {  # functions of messages that no request of a client can cause
    "accept_older()",
    "list_rejections()",
    "remove_threshold()",
    "restore()",
    "unfit()",
}


class Zero(int):
    """Value that is formatted as "0" for every format specification."""

    def __format__(self, layout):
        return "0"


def nodes(path, kind):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kind)]


def texts(node):
    constants = [each for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return [each.value for each in constants if isinstance(each.value, str)]


def names_in(path):
    """Returns the names in the message templates of a file, and the names that the file passes to
    `_messages.name`."""
    names = set()
    for call in nodes(path, ast.Call):
        function = getattr(call.func, "id", getattr(call.func, "attr", None))
        if function == "Message":
            (template,) = call.args
            values = {keyword.arg: Zero() for keyword in call.keywords}
            # A template is a literal, so that values cannot be read as names.
            names.update(Message(ast.literal_eval(template), **values).names)
        elif ast.unparse(call.func) == "_messages.name":
            names.update(texts(call.args[0]))
    return names


def names_of(folder):
    files = [*FILES[folder], *([THRESHOLDS] if folder == "gallery" else [])]
    return set().union(*map(names_in, files))


@pytest.mark.parametrize("folder", SPELLINGS)
def test_commands_have_a_spelling_for_each_name(folder):
    names = names_of(folder)
    assert names
    for spelling in SPELLINGS[folder]:
        assert names - IN_PYTHON_ONLY[folder] <= {*spelling}


@pytest.mark.parametrize("folder", SPELLINGS)
def test_errors_spell_names_by_messages_only(folder):
    """Tests that error texts contain no bare names in backticks, because commands would print such
    a name in the Python spelling."""
    raised = [(path, node) for path in FILES[folder] for node in nodes(path, ast.Raise)]
    assert raised
    for path, node in raised:
        quoted = [word for text in texts(node) for word in text.split("`")[1::2]]
        assert not [word for word in quoted if word.isidentifier()], f"{path}:{node.lineno}"


@pytest.mark.parametrize(
    "spelling",
    [_options.GALLERY_NAMES, train.NAMES, _exports.NAMES, merge.NAMES_OF_OTHER, rename.NAMES],
)
def test_spelled_options_exist(spelling):
    commands = typer.main.get_command(cli.app).commands.values()
    options = {option for command in commands for each in command.params for option in each.opts}
    words = [word.strip("`") for text in spelling.values() for word in text.split()]
    spelled = {word for word in words if word.startswith("--")}
    assert spelled and spelled <= options


def test_no_score_reaches_a_client():
    scores = _messages.name("scores", " (0.25 > 0.125)")
    reason = Message("{path}: it is too far{scores}", path="/tmp/a.csv", scores=scores)
    translator = errors.Translator("/data/family.db")
    assert translator.translate(reason, {"/tmp/a.csv": "walk.csv"}) == "walk.csv: it is too far"
    assert translator.answer(ValueError(reason)) == (422, "/tmp/a.csv: it is too far")


def test_the_rest_interface_has_a_spelling_for_each_function():
    functions = {name for name in names_of("gallery") if name.endswith("()")}
    assert functions and functions - NOT_IN_REST <= {*errors.NAMES}
