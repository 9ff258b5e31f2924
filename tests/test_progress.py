"""Tests that the progress display is written to stderr, and that `track` yields the items
unchanged."""

import itertools

import pytest

from keras_dml import progress


@pytest.fixture
def clock(monkeypatch):
    """Returns a clock, in seconds, that the test can set."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: Clock.now)
    return Clock


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")


def test_items_come_unchanged_and_in_order():
    items = [object() for _ in range(5)]
    assert list(progress.track(items, "embed")) == items


def test_short_work_on_a_pipe_is_silent(capsys):
    list(progress.track(range(3), "embed"))
    assert capsys.readouterr() == ("", "")


def test_long_work_on_a_pipe_prints_a_line_every_ten_seconds(capsys, clock):
    for _ in progress.track(range(10), "embed"):
        clock.now += 4.0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "embed: 3/10, 0.2/s, 28 s left",
        "embed: 6/10, 0.2/s, 16 s left",
        "embed: 9/10, 0.2/s, 4 s left",
    ]


def test_work_of_unknown_length_prints_the_count(capsys, clock):
    for _ in progress.track(itertools.repeat(0, 4), "read"):
        clock.now += 6.0
    assert capsys.readouterr().err == "read: 2 done, 0.2/s\n"


def test_a_given_total_serves_an_iterable_without_length(capsys, clock):
    for _ in progress.track(iter(range(4)), "read", total=4):
        clock.now += 10.0
    assert capsys.readouterr().err.splitlines()[0] == "read: 1/4, 0.1/s, 30 s left"


def test_a_slow_first_item_gives_no_rate_of_zero(capsys, clock):
    def slow():
        clock.now += 30.0
        yield 1

    assert list(progress.track(slow(), "read", total=1)) == [1]
    assert capsys.readouterr().err == "read: 0/1, 0.0/s\n"


def test_a_terminal_shows_count_and_description_on_stderr(capsys, terminal):
    assert list(progress.track(range(7), "embed")) == list(range(7))
    out, err = capsys.readouterr()
    assert out == ""
    assert "embed" in err and "7/7" in err


def test_a_description_is_no_markup(capsys, terminal):
    assert list(progress.track(range(3), "read [/] [bold]")) == [0, 1, 2]
    assert "read [/] [bold]" in capsys.readouterr().err


def test_leaving_early_ends_the_bar(capsys, terminal):
    for item in progress.track(range(100), "embed"):
        if item == 2:
            break
    assert list(progress.track(range(2), "again")) == [0, 1]
