"""Tests that each command that reads recordings has all options for reading files."""

import pytest

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
