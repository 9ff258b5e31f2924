"""Tests mutation testing.

A mutant is a copy of the package with one small change. If tests notice the change, the mutant must
be reported as killed. The checkout must not change.
"""

import csv
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from tests import mutants, mutation

SOURCE = '''"""Half of `a < b`."""

LEAST: int = 2  # é


def clipped(x, y=None):
    """Returns `x`, at least `LEAST`."""
    if x != x or y:
        raise ValueError(
            f"{x} < 0"
        )
    return clip(x, LEAST) + len("é < a")
'''
PATH = "keras_dml/recordings/toy.py"
TOY = """def rises(x):
    return x[1] > x[0]


def least(x):
    return min(x, default=0.0)
"""
TESTS = """from keras_dml.recordings import toy


def test_it_rises():
    assert toy.rises([1, 2]) and not toy.rises([2, 1])


def test_least():
    assert toy.least([1.0, 2.0]) == 1.0
"""


def changes(source=SOURCE):
    return {(mutant.operator, mutant.new) for mutant in mutation.mutants(PATH, source)}


def test_each_mutant_is_one_small_change_of_what_runs():
    made = changes()
    assert {
        ("constant", "LEAST: int = 3 # é"),
        ("comparison", "if x == x or y:"),
        ("condition", "if x != x and y:"),
        ("condition dropped", "if ((y)):"),
        ("condition negated", "if (not (x != x or y)):"),
        ("check dropped", "pass"),
        ("arguments swapped", 'return clip(LEAST, x) + len("é < a")'),
        ("arithmetic", 'return clip(x, LEAST) - len("é < a")'),
        ("term dropped", "return (clip(x, LEAST))"),
    } <= made
    assert not any("a <= b" in new or "<= 0" in new or "<= a" in new for _, new in made)


@pytest.mark.parametrize(
    "before, after",
    [
        ("a = b <= c", "a = b < c"),
        ("a = b * (c) / d", "a = b / (c) / d"),
        ("a = f(b, axis=-1)", "a = f(b, axis=0)"),
        ("a = f(b, ddof=1)", "a = f(b, ddof=0)"),
        ("a = f(b, ddof=1)", "a = f(b)"),
        ("a = not b", "a = (b)"),
        ("a = b - c", "a = ((c) - (b))"),
        ("a = any(b)", "a = all(b)"),
        ("a = b if c else d", "a = b if (not (c)) else d"),
        ("a = b in c", "a = b not in c"),
        ("a = 0.5", "a = 1.0"),
        ("a += 1", "a -= 1"),
        ("a = [b for b in c if d]", "a = [b for b in c if True]"),
        ("check(b)", "pass"),
    ],
)
def test_changes(before, after):
    assert after in {new for _, new in changes(before + "\n")}


def test_a_mutant_is_known_however_its_lines_move():
    first = mutation.mutants(PATH, SOURCE)
    moved = mutation.mutants(PATH, "import os\n\n" + SOURCE)
    assert {mutant.key for mutant in first} == {mutant.key for mutant in moved}
    assert len({mutant.key for mutant in first}) == len(first) > 10


def test_a_sample_is_repeatable_and_of_all_files():
    pool = [mutant for i in range(5) for mutant in mutation.mutants(f"{i}.py", SOURCE)]
    drawn = mutation.sample(pool, 10, seed=3)
    assert drawn == mutation.sample(pool[::-1], 10, seed=3) != mutation.sample(pool, 10, seed=4)
    assert sorted(mutant.path for mutant in drawn) == sorted([f"{i}.py" for i in range(5)] * 2)
    assert len(mutation.sample(pool, 10_000, seed=0)) == len(pool)


def test_mutants_that_change_no_behavior_still_exist():
    """Tests that each mutant in `mutants_equivalent.toml` still exists. If the code of a mutant has
    changed, delete the mutant's entry."""
    reasons = mutation.equivalents(mutants.EQUIVALENT.read_text())
    pools = {
        path: {mutant.key for mutant in mutation.mutants(path, (mutants.ROOT / path).read_text())}
        for path, *_ in reasons
    }
    assert pools and all(key in pools[key[0]] for key in reasons)
    assert all(len(reason) > 20 for reason in reasons.values())


def test_each_source_file_of_an_area_has_tests():
    for area in mutants.Area:
        sources = sorted((mutants.ROOT / "keras_dml" / area).rglob("*.py"))
        assert sources
        for file in sources:
            path = file.relative_to(mutants.ROOT).as_posix()
            tests = mutants.tests_of(mutants.ROOT, path)
            files = [mutants.ROOT / test.partition("::")[0] for test in tests]
            assert files and all(file.exists() for file in files), path
    for names in mutants.TESTS.values():
        for name in names.split():
            assert (mutants.ROOT / "tests" / f"{name}.py").exists(), name


@pytest.fixture
def toy(tmp_path):
    """Writes a small package with a tested function and a function without a test."""
    for path, text in {
        PATH: TOY,
        "keras_dml/__init__.py": "",
        "keras_dml/recordings/__init__.py": "",
        "tests/recordings/test_toy.py": TESTS,
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n'
        'markers = ["slow"]\npythonpath = ["."]\n',
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def command(root, *options):
    arguments = ["--area", "recordings", "--root", str(root), *options]
    return [sys.executable, "-m", "tests.mutants", *arguments]


def run(root, *options):
    return subprocess.run(
        command(root, *options), cwd=mutants.ROOT, capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
def test_a_mutant_is_killed_and_another_survives(toy):
    """Tests that one mutant fails its tests and another mutant survives. The toy tests use neither
    an empty list nor equal numbers, so some mutants survive.
    """
    before = {path: path.read_bytes() for path in sorted(toy.rglob("*.*"))}
    path = toy.parent / "results.csv"
    pattern = r"(max|1\.0)\b|x\[1\] (>= x\[0\]|> x\[1\])$"
    ended = run(toy, "--only", pattern, "--out", str(path), "--jobs", "2")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    with path.open(newline="") as file:
        rows = {row["new"]: row for row in csv.DictReader(file)}
    row = rows["return max(x, default=0.0)"]
    assert row["outcome"] == "killed" and row["test"].endswith("test_toy.py::test_least")
    assert rows["return x[1] > x[1]"]["outcome"] == "killed"
    for new in ("return x[1] >= x[0]", "return min(x, default=1.0)"):
        assert rows[new]["outcome"] == "survived"
        assert f"+ {new}\n" in ended.stdout
    killed = sum(row["outcome"] == "killed" for row in rows.values())
    counts = map(int, re.findall(r"\d+", ended.stdout.split("recordings")[1].split("\n")[0]))
    assert list(counts) == [len(rows), killed, 0, 0, len(rows) - killed]
    assert {path: path.read_bytes() for path in sorted(toy.rglob("*.*"))} == before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
def test_a_mutant_that_never_ends_is_stopped(toy):
    file = toy / PATH
    file.write_text(TOY + "\n\ndef count(n):\n    while n > 0:\n        n -= 1\n    return n\n")
    with (toy / "tests/recordings/test_toy.py").open("a") as tests:
        tests.write("\n\ndef test_count():\n    assert toy.count(3) == 0\n")
    start = time.monotonic()
    ended = run(toy, "--only", r"n \+= 1", "--limit", "5")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    counts = ended.stdout.split("recordings")[1].split("\n")[0]
    assert list(map(int, re.findall(r"\d+", counts))) == [1, 0, 1, 0, 0]
    assert time.monotonic() - start < 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
def test_tests_that_fail_without_a_change_are_told(toy):
    tests = toy / "tests/recordings/test_toy.py"
    tests.write_text(tests.read_text().replace("== 1.0", "== 3.0"))
    ended = run(toy, "--only", "max")
    assert ended.returncode == 2
    assert "fail without any change" in ended.stdout and "test_least" in ended.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")
def test_an_interrupted_run_leaves_its_results_and_nothing_else(toy, tmp_path_factory):
    scratch, path = tmp_path_factory.mktemp("t"), toy.parent / "interrupted.csv"
    with (toy / "tests/recordings/test_toy.py").open("a") as tests:
        tests.write("\n\ndef test_slow():\n    import time\n    time.sleep(60)\n")
    options = ["--only", "return", "--out", str(path)]
    with subprocess.Popen(
        command(toy, *options),
        cwd=mutants.ROOT,
        env=os.environ | {"TMPDIR": str(scratch)},
        # If a shell runs the tests in the background, child processes ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 120
        while not (path.exists() and "killed" in path.read_text()) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) not in (0, 1, 2)
    assert "killed" in path.read_text() and not list(scratch.iterdir())


def test_it_lists_mutants_without_running_them(toy):
    ended = run(toy, "--list", "--count", "3")
    assert ended.returncode == 0 and ended.stdout.count("\n  + ") == 3
    assert pathlib.Path(PATH).as_posix() in ended.stdout


def test_a_folder_without_the_package_is_refused(tmp_path):
    ended = run(tmp_path)
    assert ended.returncode == 2 and str(tmp_path) in ended.stderr.replace("\n", "")
