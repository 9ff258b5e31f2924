"""Tests that each command that reads recordings has all options for reading files, and that stored
options are printed as a user types them.
"""

import pytest

from keras_dml.cli import _options

COMMANDS = ("enroll", "verify", "identify", "explain", "reject", "listen", "calibrate", "train")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_reads_recordings_names_times_and_gaps(command, name):
    code, printed, _ = command(name, "--help")
    assert code == 0
    for option in ("--time ", "--time-unit", "--max-gap", "--channels", "--rate-hz", "--resample"):
        assert option in printed


def test_units_of_times_are_listed_in_the_refusal(command, tmp_path):
    code, _, error = command("verify", "a.db", "alice", "a.csv", "--time-unit", "h")
    assert code == 2 and all(unit in error for unit in ("'s'", "'ms'", "'us'", "'ns'"))


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        ({}, ""),
        ({"resample": True}, "--resample"),
        ({"channels": ["ax", "ay"], "rate_hz": 50.0}, "--channels ax,ay --rate-hz 50.0"),
        ({"max_gap": 0.5, "units": ["g", "g"]}, "--max-gap 0.5 units g,g"),
    ],
)
def test_stored_options_are_printed_as_typed(reading, expected):
    assert _options.as_typed(reading) == expected
