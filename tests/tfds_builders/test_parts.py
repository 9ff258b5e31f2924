"""Tests that builders warn of a part of an archive and do not warn of a complete archive."""

import json
import types

import pytest
from typer.testing import CliRunner

from tests.tfds_builders import samples
from tfds_builders.build import app
from tfds_builders.common.parts import warn_of_part

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture
def info():
    return types.SimpleNamespace(metadata={})


def test_the_whole_and_more_than_it_are_not_mentioned(info, caplog):
    warn_of_part(info, "A.zip", "Set", {"people": (24, 24), "trials": (1_021, 1_020)}, ["people"])
    assert caplog.messages == [] and info.metadata == {}


def test_all_counts_are_told_where_one_lacks(info, caplog):
    warn_of_part(info, "A.zip", "Set", {"people": (24, 24), "trials": (900, 1_020)}, ["people"])
    assert caplog.messages == [
        "A.zip holds 24 of 24 people and 900 of 1,020 trials, so it is only a part of Set."
    ]


def test_other_splits_are_told_where_that_lacks_which_they_are_drawn_from(info, caplog):
    warn_of_part(info, "A.zip", "Set", {"people": (23, 24)}, ["people"])
    told = "a part of Set. Its splits differ from those of the complete data set."
    assert caplog.messages[0].endswith(told)


@pytest.mark.slow
def test_a_prepared_data_set_is_still_said_to_be_a_part(tmp_path):
    """The second command prepares nothing, but still reports that the data set is a part."""
    manual = samples.write(tmp_path / "manual", samples.gait_files())
    arguments = ["ipol_gait", "--manual-dir", str(manual), "--data-dir", str(tmp_path / "d")]
    first, again = (CliRunner().invoke(app, arguments).stdout for _ in range(2))
    told = "GaitData holds 10 of 230 subjects and 10 of 1,020 trials, so it is only a part of"
    assert again == first and told in again
    assert told in json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)["parts"][0]
