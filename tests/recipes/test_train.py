"""Tests the command that trains all models of the zoo again."""

import pathlib
import subprocess

import pytest
import typer

from keras_dml import zoo
from zoo import train


@pytest.fixture
def commands(monkeypatch):
    """Records the commands of recipes instead of running them.

    The commands of models in `commands.broken` fail.
    """

    class Commands(list):
        broken = ()

    found = Commands()

    def run(words):
        found.append(words)
        out = pathlib.Path(words[words.index("--out") + 1])
        out.mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(words, int(out.name in found.broken))

    monkeypatch.setattr(train.subprocess, "run", run)
    return found


def trained(commands):
    return [pathlib.Path(words[words.index("--out") + 1]).name for words in commands]


def test_all_models_are_trained_by_the_commands_on_their_cards(commands, tmp_path):
    train.main(every=True, build=tmp_path)
    assert sorted(trained(commands)) == sorted(zoo.list_models())
    minutes = [zoo.card(name)["recipe"]["minutes"] for name in trained(commands)]
    assert minutes == sorted(minutes)
    (vowels,) = (words for words in commands if words[2] == "zoo.papers.vowels_qp_wl.train")
    said = zoo.card("vowels_qp_wl")["recipe"]["command"].split()
    assert [word for word in said[1:] if word != "--publish"] == vowels[1 : len(said) - 1]
    assert "--publish" not in vowels and "--resume" not in vowels


def test_a_failure_leaves_the_others_and_is_alone_repeated(commands, tmp_path, capsys):
    commands.broken = ("gait_lda",)
    names = ["vowels_qp_wl", "gait_lda", "gait_qp_wl"]
    with pytest.raises(typer.Exit) as error:
        train.main(names, resume=True, build=tmp_path)
    assert error.value.exit_code == 1 and trained(commands) == names
    assert "failed: gait_lda" in capsys.readouterr().err
    commands.clear()
    commands.broken = ()
    train.main(names, resume=True, build=tmp_path)
    assert trained(commands) == ["gait_lda"] and "--resume" in commands[0]
    commands.clear()
    train.main(names, resume=True, publish=True, build=tmp_path)
    assert trained(commands) == names and all("--publish" in words for words in commands)


@pytest.mark.parametrize("names, every", [(None, False), (["gait_lda"], True)])
def test_names_or_all_are_asked_for(names, every, commands):
    with pytest.raises(typer.BadParameter, match="--all"):
        train.main(names, every=every)
    assert not commands


def test_an_unknown_name_is_refused_before_anything_is_trained(commands, tmp_path):
    with pytest.raises(typer.BadParameter, match="Did you mean 'gait_qp_wl'"):
        train.main(["vowels_qp_wl", "gait_qp_w"], build=tmp_path)
    assert not commands
