"""Tests that settings are options of a command and that runs print their time."""

import dataclasses

import pytest
import typer
from typer.testing import CliRunner

from zoo.papers import potato, prototypes, wasserstein
from zoo.papers.runs import TimedRuns, duration
from zoo.papers.settings import SettingError, command_options, option_name, with_options

PAPERS = {"potato": potato, "prototypes": prototypes, "wasserstein": wasserstein}


def parse(paper, *words):
    """Returns the settings that a command receives, or the output of a wrong command."""
    app, received = typer.Typer(), []

    @app.command()
    @with_options(paper.Settings, paper.SCALES)
    def command(settings):
        received.append(settings)

    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    return received[0] if result.exit_code == 0 else result.output


@pytest.mark.parametrize("name", PAPERS)
def test_every_scale_is_a_value_of_the_option_scale(name):
    paper = PAPERS[name]
    assert len(paper.SCALES) >= 2
    for scale, settings in paper.SCALES.items():
        assert parse(paper, "--scale", scale) == settings
        assert command_options(settings, paper.SCALES) == (scale, f"--scale {scale}")


@pytest.mark.parametrize("name", PAPERS)
def test_every_setting_is_an_option_and_is_documented(name):
    fields = [field for field in dataclasses.fields(PAPERS[name].Settings) if field.metadata]
    assert len(fields) >= 10
    documented = PAPERS[name].Settings.__doc__
    for field in fields:
        assert field.metadata["help"]
        assert field.name in documented, option_name(field)


def test_options_replace_the_fields_of_the_scale_and_are_printed_as_options():
    words = ("--scale", "smoke", "--knots", "8", "--learning-rates", "0.001,0.01", "--length")
    words += ("whole", "--method", "QP-NPL", "--method", "QP-WL, gaze alone", "--people", "all")
    settings = parse(wasserstein, *words)
    assert settings == dataclasses.replace(
        wasserstein.SCALES["smoke"],
        knots=8,
        learning_rates=(1e-3, 1e-2),
        length=None,
        methods=("QP-NPL", "QP-WL, gaze alone"),
        people=None,
    )
    scale, options = command_options(settings, wasserstein.SCALES)
    assert scale == "smoke" and '--method "QP-NPL" --method "QP-WL, gaze alone"' in options
    for text in ("--knots 8", "--learning-rates 0.001,0.01", "--length whole", "--people all"):
        assert text in options


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("--knots", "1"), "--knots"),
        (("--learning-rates", "a,b"), "--learning-rates"),
        (("--schedule", "linear"), "--schedule"),
        (("--scale", "large"), "--scale"),
    ],
)
def test_an_invalid_value_is_an_error_of_its_option(words, option):
    output = parse(wasserstein, *words)
    assert option in output and words[1] in output


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"steps": 0}, "steps"),
        ({"size": "huge"}, "size"),
        ({"learning_rates": ()}, "learning_rates"),
        ({"slope_l2": (float("nan"),)}, "slope_l2"),
        ({"seeds": None}, "seeds"),
    ],
)
def test_invalid_settings_are_refused_by_name(changes, name):
    with pytest.raises(SettingError, match=f"`{name}`") as refused:
        dataclasses.replace(wasserstein.SCALES["smoke"], **changes)
    assert refused.value.name == name


def test_each_finished_run_prints_its_time_and_the_time_left(tmp_path, capsys):
    runs = TimedRuns(tmp_path)
    plan = [{"name": "run", "value": value} for value in range(3)]
    assert runs.make(plan[:1], lambda settings: settings["value"], "square") == [0]
    first = capsys.readouterr().err.splitlines()
    assert first[0] == "square: 1 to do" and len(first) == 2
    assert runs.make(plan, lambda settings: settings["value"], "square") == [0, 1, 2]
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "square: 2 to do, 1 finished before"
    assert lines[1].startswith("square: 1 of 2 done, the last in 0 s; 0 s elapsed, about 0 s left")
    assert len(lines) == 3
    assert runs.make(plan, None, "square") == [0, 1, 2] and capsys.readouterr().err == ""


def test_durations_are_in_words():
    assert [duration(seconds) for seconds in (7.6, 200, 7500)] == ["8 s", "3 min 20 s", "2 h 5 min"]
