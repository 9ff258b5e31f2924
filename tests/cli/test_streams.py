"""Tests that output is safe for any text, encoding, broken pipe and full disk."""

import io
import json
import os
import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console

from keras_dml.cli import _console, _streams
from tests.zoo.cards import CARD

HOSTILE = "\x1b[31mred\x1b]0;me\x07 \x9b2J \u202e\u2066txet\u2069 \ud800 \r\x08 [/] [bold]x :bomb:"
SHOWN = r"\x1b[31mred\x1b]0;me\x07 \x9b2J \u202e\u2066txet\u2069 \ud800 \r\x08 [/] [bold]x :bomb:"
LEAN = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


def run(*words, folder=None, code=None, **options):
    """Runs `keras-dml`, or Python code, in a subprocess."""
    if folder is not None:
        options["env"] = {**options.get("env", {}), "KERAS_DML_ZOO": str(folder)}
    options["env"] = {**os.environ, **options.get("env", {})}
    command = ["-m", "keras_dml.cli", *map(str, words)] if code is None else ["-c", code]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([sys.executable, *command], **options)


@pytest.fixture
def hostile_zoo(zoo_folder):
    """Returns a zoo in which every text of a card contains terminal codes and markup."""
    path = zoo_folder / "gait_qp_wl" / "card.json"
    card = json.loads(path.read_text())
    for key in ("task", "paper"):
        card[key] = HOSTILE
    card |= {"limits": [HOSTILE], "figures_are": HOSTILE}
    card["data"] |= dict.fromkeys(("builder", "licence", "consent"), HOSTILE)
    card["input"]["channels"][0] = HOSTILE
    card["figures"][0] |= {"protocol": HOSTILE, "attack": HOSTILE}
    path.write_text(json.dumps(card))
    return zoo_folder


def control_characters(text):
    """Returns the characters of a text that control a terminal."""
    return {char for char in text if not char.isprintable()} - {"\n"}


def test_terminal_codes_are_escaped():
    assert _streams.escape(HOSTILE) == SHOWN
    plain = "± 2.1 × ü 速 e\u0301 5\xa0%\n\tnext"
    assert _streams.escape(plain) == plain


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["card", "gait_qp_wl"]])
def test_a_hostile_card_is_escaped(command, hostile_zoo, words):
    code, out, err = command(*words)
    assert code == 0, err
    assert not control_characters(out)
    assert r"\x1b[31mred" in out and "[/] [bold]x :bomb:" in " ".join(out.split())


@pytest.mark.parametrize("words", [["list", "--json"], ["card", "gait_qp_wl", "--json"]])
def test_json_of_a_hostile_card_is_complete_and_ascii(command, hostile_zoo, words):
    code, out, _ = command(*words)
    assert code == 0 and out.isascii() and not control_characters(out)
    card = json.loads(out)
    assert card.get("gait_qp_wl", card)["task"] == HOSTILE


def test_the_demo_escapes_a_hostile_card(capsys):
    from keras_dml.cli import _demo

    _demo.introduce("[/]", {**CARD, "task": HOSTILE, "model": {"parameters": 7}})
    out = capsys.readouterr().out
    assert "[/]: " in out and not control_characters(out)


def test_errors_escape_the_text_that_they_quote(command, zoo_folder):
    path = zoo_folder / "gait_qp_wl" / "card.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": "\x1b[2Jx\u202e\ud800"}))
    code, _, err = command("card", "gait_qp_wl")
    assert code == 2 and "is the card of" in err and not control_characters(err)


def test_long_names_leave_room_for_figures(capsys):
    name = "linear discriminants of means and lagged correlations in closed form " * 2
    _console.print_table(("method", "AUC", "EER"), [(name, "0.9581 [0.9326 to 0.9784]", "10.8 %")])
    out = capsys.readouterr().out
    words = out.split()
    assert {"0.9581", "0.9784]", "10.8"} <= set(words) and words.count("discriminants") == 2
    assert max(map(len, out.splitlines())) <= _console.MIN_WIDTH


def test_markup_in_the_name_of_a_folder_is_escaped(capsys):
    _console.print_table(("[b]", "\x1b[1m"), [("[/]", "[bold]")])
    _console.echo(f"in {_console.escape('a [folder] [/]')}")
    lines = capsys.readouterr().out.splitlines()
    assert [line.rstrip() for line in lines] == [
        "[b]  \\x1b[1m",
        "[/]  [bold]",
        "in a [folder] [/]",
    ]


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2.1 % ± 0.3, 65 × 18 – 20 ✓", "2.1 % +/- 0.3, 65 x 18 - 20 *"),
        ("‘it’s’ “so” …", "'it's' \"so\" ..."),
        ("Müller, Čech, ½, µV, m/s²", "Muller, Cech, 1/2, uV, m/s^2"),
        ("速 \U0001f4a3 \udc80", r"\u901f \U0001f4a3 \udc80"),
    ],
)
def test_text_beyond_ascii_stays_readable(text, plain):
    assert _streams.fit_encoding(text, "ascii") == plain
    assert _streams.fit_encoding("± ü", "latin-1") == "± ü"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["list"], ["card", "gait_qp_wl"], ["--help"], ["card", "nöbody"], ["dmeo±"]]
)
@pytest.mark.parametrize("locale", [{"PYTHONIOENCODING": "ascii"}, LEAN], ids=["ascii", "C"])
def test_every_command_works_on_an_ascii_terminal(zoo_folder, words, locale):
    done = run(*words, folder=zoo_folder, env=locale)
    out = done.stdout.decode("ascii") + done.stderr.decode("ascii")
    assert done.returncode == (2 if words[-1] in ("nöbody", "dmeo±") else 0), out
    assert "codec" not in out and "\\x" not in out.replace("\\xb1", "") and "Traceback" not in out
    if done.returncode == 0:
        expected = {"list": "28 x 28 pixels", "card": "2.1 % +/- 0.3", "--help": "Usage"}
        assert expected[words[0]] in out


@pytest.mark.slow
def test_columns_are_aligned_in_ascii(zoo_folder):
    done = run("card", "gait_qp_wl", folder=zoo_folder, env=LEAN)
    lines = done.stdout.decode().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("protocol"))
    assert len({len(line) for line in lines[first : first + 3]}) == 1
    assert lines[first].index("trials") == lines[first + 1].index("1,260")


def test_notes_are_readable_in_ascii():
    code = f"from keras_dml.cli import _console\nwith _console.stage({ascii('3 × 4 ü [/]')}): pass"
    assert run(code=code, env=LEAN).stderr == b"3 x 4 u [/] ...\n"


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["list"], ["card", "gait_qp_wl", "--json"], ["--help"]])
def test_a_full_disk_is_one_clear_error(zoo_folder, words, unbuffered):
    with open("/dev/full", "w") as full:
        env = {"PYTHONUNBUFFERED": unbuffered}
        done = run(*words, folder=zoo_folder, stdout=full, env=env)
    messages = done.stderr.decode()
    assert done.returncode == 2
    assert messages.count("\n") == 2 and "No space left on device" in messages


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["card", "gait_qp_wl", "--json"]])
def test_a_broken_pipe_ends_the_command_silently(zoo_folder, words):
    reading, writing = os.pipe()
    os.close(reading)
    done = run(*words, folder=zoo_folder, stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + 13, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "code"), [("1>&-", 2), ("2>&-", 0), ("0<&- 1>&- 2>&-", 2), ("2>/dev/full", 0)]
)
def test_closed_streams_give_no_traceback(zoo_folder, closed, code):
    shell = f'"{sys.executable}" -m keras_dml.cli card gait_qp_wl {closed}'
    env = {**os.environ, "KERAS_DML_ZOO": str(zoo_folder)}
    done = subprocess.run(shell, shell=True, env=env, capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    if closed == "1>&-":
        assert "Standard output is closed" in done.stderr


@pytest.mark.parametrize("words", [["list"], ["card", "gait_qp_wl"]])
def test_ctrl_c_is_one_sentence_and_130(zoo_folder, words):
    code = (
        "from keras_dml import cli, zoo\n"
        "def stopped(*names): raise KeyboardInterrupt\n"
        "zoo.list_models = zoo.card = stopped\n"
        f"cli.main({words})"
    )
    done = run(code=code, folder=zoo_folder)
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr.decode().splitlines() == ["Stopped; nothing was written."]


@pytest.mark.parametrize("mark", ["\n", "\t", "\r", "\x85", "\u2028", "\u2029", "\u202e"])
def test_line_breaks_in_names_are_escaped(capsys, mark):
    name = f"eve{mark}mallory  9"
    _console.print_table(("person", "recordings"), [(name, 4)])
    _console.echo(f"{_console.escape(name)}: enrolled")
    _console.echo(_console.escape_lines(f"{name}\nnext"))
    out = capsys.readouterr().out
    assert mark == "\n" or mark not in out
    starts = [line.split()[0] for line in out.splitlines()]
    assert starts == ["person", *starts[1:]] and starts.count("mallory") == (mark == "\n")


def test_the_rest_of_a_long_name_is_indented(capsys):
    name = f"{30 * 'x'}   mallory                        9"
    _console.print_table(("person", "recordings"), [(name, 4), ("ben", 2)])
    starts = [line for line in capsys.readouterr().out.splitlines() if line[:1].strip()]
    assert [line.split()[0] for line in starts] == ["person", 30 * "x", "ben"]


STARTS = [30 * "x", 16 * "速", 3 * "eve\x1b]0;title\x07", 3 * "long name ", 90 * "y"]


@pytest.mark.parametrize("start", [*STARTS, f"{29 * 'x'}e\u0301"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_no_part_of_a_long_name_is_a_line_of_its_own(monkeypatch, start, encoding):
    out = io.TextIOWrapper(io.BytesIO(), encoding, errors=_streams.READABLE)
    console = Console(file=out, width=_console.MIN_WIDTH, emoji=False)
    monkeypatch.setattr(_console, "_stdout", lambda: console)
    names = [f"{start}{gap}mallory     9" for gap in (" ", "   ", 20 * " ")]
    _console.print_table(("person", "recordings"), [(name, 4) for name in (*names, 40 * "z")])
    out.flush()
    lines = [line.split() for line in out.buffer.getvalue().decode(encoding).splitlines()]
    assert len(lines) > len(names) + 2 and ["person", "recordings"] in lines
    assert not [line for line in lines if line[0] == "mallory"]
    assert sum(line[-1] == "4" for line in lines) == len(names) + 1


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_further_lines_of_a_long_line_are_indented_on_a_terminal(monkeypatch, start, encoding):
    out = io.TextIOWrapper(io.BytesIO(), encoding, errors=_streams.READABLE)
    console = Console(file=out, width=40, force_terminal=True, color_system=None, emoji=False)
    monkeypatch.setattr(_console, "_stdout", lambda: console)
    name = f"{start}{40 * ' '}mallory: accepted"
    _console.echo(f"[bold]{_console.escape(name)}[/bold]: rejected")
    _console.echo(_console.escape_lines("first\n\nlast"))
    out.flush()
    lines = out.buffer.getvalue().decode(encoding).splitlines()
    assert lines[-3:] == ["first", "", "last"]
    first, *rest = lines[:-3]
    mark = _streams.fit_encoding(_console.CONTINUED, encoding)
    assert len(rest) >= 1 and all(line.startswith("  ") for line in rest)
    escaped = _streams.fit_encoding(_console.escape(name), encoding)
    is_broken = max(map(len, escaped.split())) > 40
    assert any(line.startswith(mark) for line in rest) == is_broken
    assert all(cell_len(line) <= 40 for line in lines)
    words = " ".join([first, *(line.removeprefix(mark) for line in rest)])
    assert words.split()[-3:] == ["mallory:", "accepted:", "rejected"]


def test_lines_of_an_error_are_indented(command, tmp_path):
    path = tmp_path / "a\nError: all is well.csv"
    path.write_text("x\n1\n")
    code, _, err = command("verify", tmp_path / "none.db", "alice", path)
    assert code == 2
    assert [line for line in err.splitlines() if line.startswith("Error")] == [err.splitlines()[0]]
