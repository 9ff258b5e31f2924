"""Messages name arguments as data, so that each interface spells them in its own way."""

import pickle

import pytest

from keras_dml._messages import Message, spelled

COMMANDS = {"far": "--far", "calibrate()": "`keras-dml calibrate`"}


def test_a_message_spells_names_as_python_does():
    message = Message("{far} is {value:g}. Call {calibrate()}.", value=0.5)
    assert message == "`far` is 0.5. Call `calibrate`."
    assert message.names == ("far", "calibrate()")


def test_an_interface_spells_the_names_that_it_knows():
    message = Message("{far} and {key}: {calibrate()}")
    assert message.spelled(COMMANDS) == "--far and `key`: `keras-dml calibrate`"


@pytest.mark.parametrize("value", ["{far}", "{0}", "}{", "`far`", "%s", "$far"])
def test_values_are_never_read_as_names(value):
    message = Message("{far}: {value}", value=value)
    assert message.spelled(COMMANDS) == f"--far: {value}"


def test_a_message_within_a_message_is_spelled_too():
    reason = Message("{far} is missing")
    assert Message("{path}: {reason}", path="a", reason=reason).spelled(COMMANDS) == (
        "a: --far is missing"
    )


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, FileNotFoundError, UserWarning])
def test_errors_and_warnings_carry_their_message(kind):
    assert spelled(kind(Message("{far} is 2")), COMMANDS) == "--far is 2"


def test_other_texts_and_errors_stay_as_they_are():
    assert spelled("`far`", COMMANDS) == "`far`"
    assert spelled(ValueError("`far`"), COMMANDS) == "`far`"
    assert "No such file" in spelled(FileNotFoundError(2, "No such file", "a.csv"), COMMANDS)


def test_a_message_returns_from_another_process_as_it_was():
    message = pickle.loads(pickle.dumps(Message("{far} is {value}", value=2)))
    assert message == "`far` is 2"
    assert message.spelled(COMMANDS) == "--far is 2"
