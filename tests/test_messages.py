"""Tests that messages store the names of arguments separately from the text, because each interface
spells names in its own way."""

import copy
import pickle

import pytest

from keras_dml import _messages
from keras_dml._messages import Message, spelled

COMMANDS = {"far": "--far", "replace=True": "--replace", "calibrate()": "`keras-dml calibrate`"}


def test_a_message_spells_names_as_python_does():
    message = Message("{far} is {value:g}. Use {calibrate()} or {replace=True}.", value=0.5)
    assert message == "`far` is 0.5. Use `calibrate` or `replace=True`."
    assert message.names == ("far", "calibrate()", "replace=True")


def test_an_interface_spells_the_names_that_it_has():
    message = Message("{far} and {key}: {calibrate()} {replace=True}")
    assert message.spelled(COMMANDS) == "--far and `key`: `keras-dml calibrate` --replace"


@pytest.mark.parametrize("value", ["{far}", "{0}", "}{", "`far`", "%s", "$far"])
def test_values_are_never_read_as_names(value):
    message = Message("{far}: {value}", value=value)
    assert message.spelled(COMMANDS) == f"--far: {value}"


def test_braces_layouts_and_conversions_are_those_of_format():
    message = Message("{{x}} {value!r:>5} {far} {rate:.1f} {error!r}", value="a", rate=2, error="e")
    assert message == "{x}   'a' `far` 2.0 'e'"


@pytest.mark.parametrize("wrap", [lambda message: message, ValueError, KeyError])
def test_names_in_a_message_or_error_within_a_message_are_spelled_too(wrap):
    reason = wrap(Message("{far} is missing"))
    message = Message("{path}: {reason}", path="a", reason=reason)
    assert message == "a: `far` is missing"
    assert message.spelled(COMMANDS) == "a: --far is missing"
    joined = _messages.join("; ", ["a", reason, reason])
    assert joined == "a; `far` is missing; `far` is missing"
    assert joined.spelled(COMMANDS) == "a; --far is missing; --far is missing"
    assert _messages.join("; ", []) == ""


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, FileNotFoundError, UserWarning])
def test_errors_and_warnings_carry_their_message(kind):
    assert spelled(kind(Message("{far} is 2")), COMMANDS) == "--far is 2"


def test_other_texts_and_errors_stay_as_they_are():
    assert spelled("`far`", COMMANDS) == "`far`"
    assert spelled(ValueError("`far`"), COMMANDS) == "`far`"
    assert "No such file" in spelled(FileNotFoundError(2, "No such file", "a.csv"), COMMANDS)
    assert _messages.text_of(KeyError("a")) == "a"


@pytest.mark.parametrize("again", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_message_returns_from_another_process_as_it_was(again):
    message = Message("{far} is {value}", value=2)
    for copied in (again(message), again(ValueError(message)).args[0]):
        assert copied == "`far` is 2" and copied.names == ("far",)
        assert copied.spelled(COMMANDS) == "--far is 2"


def test_a_name_may_stand_for_a_text_that_an_interface_leaves_out():
    message = Message("it is too far{scores}", scores=_messages.name("scores", " (2 > 1)"))
    assert message == "it is too far (2 > 1)" and message.names == ("scores",)
    assert message.spelled(COMMANDS) == "it is too far (2 > 1)"
    assert pickle.loads(pickle.dumps(message)).spelled({"scores": ""}) == "it is too far"


def test_texts_but_not_names_are_replaced():
    message = Message("far: far {far} far is {value}", value="far")
    assert message.replace("far", "x").spelled(COMMANDS) == "x: x --far x is x"
    assert message.replace("far", "x", 3).spelled(COMMANDS) == "x: x --far x is far"
    assert message.removeprefix("far: ").spelled(COMMANDS) == "far --far far is far"
    assert Message("{far}").removeprefix("`far`").spelled(COMMANDS) == "--far"


def test_a_message_is_its_text_for_everything_else():
    message = Message("{far} is 2")
    assert {message: 1} == {"`far` is 2": 1} and isinstance(f"{message}", str)
