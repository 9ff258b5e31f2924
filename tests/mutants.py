"""Mutation testing: `python -m tests.mutants` changes the package in small ways and runs the tests
for each change.

Two libraries for mutation testing are not used. mutmut 3.8 does not change constants of modules. It
also does not change decorated functions, such as properties and functions with a custom gradient.
mutmut replaces each function by a dispatcher. cosmic-ray 8.7 changes files in the checkout and
starts Python for each mutant, although importing TensorFlow takes longer than most of these tests.
mutmut and cosmic-ray do not remove terms and checks. They also do not exchange `min` and `max`, or
`any` and `all`.
"""

import compileall
import contextlib
import csv
import dataclasses
import enum
import importlib
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
from py_compile import PycInvalidationMode
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import tests.environment  # noqa: F401, before TensorFlow is imported
from keras_dml import progress
from tests import mutation

ROOT = pathlib.Path(__file__).parent.parent
EQUIVALENT = pathlib.Path(__file__).with_name("mutants_equivalent.toml")
POLL = 0.02  # seconds
EXAMPLES = "tests/test_docs.py"
EVERY_LOSS = "test_label_types"  # takes a minute to compile all losses for all label types
COLUMNS = ("file", "line", "function", "kind", "old", "new", "outcome", "seconds", "test")
USAGE_ERROR, NO_TESTS = 4, 5  # exit statuses of pytest
FAILED = "failed"  # name of the file for the first failed test
# The tests of galleries can run with four kinds of storage. Starting a server takes longer than the
# tests themselves, so servers are used only for mutants of the code for servers and encryption.
WITHOUT_SERVER = ["-k", "not server"]
PLACES = {"postgres": [], **dict.fromkeys(("encryption", "records", "store"), WITHOUT_SERVER)}
IN_PLAIN_FILES = ["-k", "not server and not (encrypted and file)"]
IGNORED = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "dist", "shared")
# Packages that are imported once and shared by all runs. None of them is part of this repository.
TABLES = ("numpy", "scipy.stats", "hypothesis", "pyarrow", "pytest")
NETWORKS = (*TABLES, "sklearn.metrics", "keras", "ot", "pyriemann.geometry.distance")
WARM = {
    "geometry": NETWORKS,
    "losses": NETWORKS,
    "evaluation": NETWORKS,
    "gallery": NETWORKS,
    "recordings": TABLES,
}
# Tests for source files without a test file of the same name. They run first and stop at a failure.
# Then those tests of the area run that contain the name of a function or a class in the file. Short
# names such as `mean` are ignored, because they occur in any test.
TESTS = {
    "geometry/chunks": "geometry/test_similarity geometry/quantile/test_wasserstein",
    "geometry/namespaces": "geometry/spd/test_potato geometry/spd/test_mean",
    "geometry/numerics": "geometry/test_numerics geometry/spd/test_distance",
    "geometry/potato_scores": "geometry/spd/test_potato test_potato",
    "geometry/quantile/order": "geometry/quantile/test_function",
    "geometry/quantile/pairwise": "geometry/quantile/test_wasserstein",
    "geometry/spd/divided_differences": "geometry/spd/test_functions",
    "geometry/spd/pairs": "geometry/spd/test_distance geometry/spd/test_difference",
    "geometry/spd/sign_polynomials": "geometry/spd/test_polynomial",
    "geometry/spd/tangent": "layers/test_tangent_map",
    "losses/_base": "losses/test_pairs losses/test_npair losses/test_family losses/test_agreement",
    "evaluation/_checks": "evaluation/test_refusals evaluation/test_equal_error_rate",
    "evaluation/_distance_matrix": "evaluation/test_retrieval evaluation/test_identification",
    "evaluation/_error_curves": "evaluation/test_equal_error_rate evaluation/test_bootstrap",
    "evaluation/_few_shot": "evaluation/test_few_shot evaluation/test_generalized",
    "evaluation/_identification": "evaluation/test_identification evaluation/test_imposters",
    "evaluation/_intervals": "evaluation/test_intervals evaluation/test_bootstrap "
    "evaluation/test_false_accepts",
    "evaluation/_retrieval": "evaluation/test_retrieval evaluation/test_reranking",
    "evaluation/_thresholds": "evaluation/test_thresholds evaluation/test_false_accepts "
    "evaluation/test_certificate evaluation/test_promise evaluation/test_tries "
    "evaluation/test_accept_rates",
    "evaluation/attacks": "evaluation/test_robustness evaluation/test_apgd evaluation/test_square",
    "gallery/_decide": "gallery/test_device edge/test_edge",
    "gallery/boundary": "gallery/test_far_promise gallery/test_listening",
    "gallery/calibration": "gallery/test_gallery gallery/test_card_thresholds",
    "gallery/enrollment": "gallery/test_repeats gallery/test_gallery",
    "gallery/files": "gallery/test_files cli/test_galleries",
    "gallery/maintenance": "gallery/test_store cli/test_galleries",
    "gallery/keras_model": (
        "gallery/test_gallery gallery/test_mean_template gallery/test_explanations"
    ),
    "gallery/names": "gallery/test_gallery gallery/test_store gallery/test_recordings",
    "gallery/permissions": "gallery/test_files gallery/test_encryption",
    "gallery/records": "gallery/test_store gallery/test_recordings gallery/test_gallery "
    "gallery/test_listening",
    "gallery/results": "gallery/test_gallery gallery/test_store gallery/test_closeness",
    "gallery/server/handlers": "gallery/test_server cli/test_serve",
    "gallery/server/readers": "gallery/test_server_attacks",
    "gallery/server/worker": "gallery/test_server_attacks",
    "gallery/sqlite": "gallery/test_sqlite gallery/test_store",
    "gallery/store": "gallery/test_sqlite gallery/test_postgres",
    "gallery/template_files": "gallery/test_exported gallery/test_gallery",
}

# In these areas all tests run, because they call `read` and not the single functions. They take 20
# s.
WHOLE = {"recordings"}

Area = enum.StrEnum("Area", {name: name for name in WARM})
app = typer.Typer(add_completion=False, rich_markup_mode=None)
out = Console(soft_wrap=True, highlight=False)


class Outcome(enum.StrEnum):
    KILLED = "killed"
    TIMEOUT = "timeout"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"


@dataclasses.dataclass(frozen=True)
class Result:
    """Result of the tests for one mutant.

    Attributes:
        mutant: `mutation.Mutant`.
        outcome: `Outcome`.
        seconds: Duration of the tests.
        detail: The first test that failed, or the reason why the mutant changes no behavior.
    """

    mutant: mutation.Mutant
    outcome: Outcome
    seconds: float = 0.0
    detail: str = ""


@app.command(epilog="Example: python -m tests.mutants --area evaluation --count 20 --seed 1")
def main(
    area: Annotated[
        list[Area] | None, typer.Option(help="Area to change; may be repeated. [default: all]")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of mutants of all areas.")] = 100,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    only: Annotated[
        str | None, typer.Option(help="Regular expression that a mutant's file and lines match.")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print the mutants and stop.")] = False,
    limit: Annotated[float, typer.Option(help="Most seconds of one mutant's tests.")] = 600,
    slow: Annotated[bool, typer.Option(help="Run tests marked as slow too.")] = True,
    jobs: Annotated[int, typer.Option(min=1, help="Number of mutants tested at once.")] = 1,
    path: Annotated[
        pathlib.Path | None, typer.Option("--out", help="CSV file for all results.")
    ] = None,
    root: Annotated[pathlib.Path, typer.Option(help="Folder of `keras_dml` and `tests`.")] = ROOT,
):
    """Create mutants of the package, run the tests for each mutant, and print mutants that no test
    detects.

    A mutant is the package with one small change, such as `<=` instead of `<`. Mutants are created
    in a temporary copy, so the checkout does not change. A mutant survives if its tests pass. For a
    surviving mutant, write a test that fails. If no input shows a difference, add the mutant and
    the reason to tests/mutants_equivalent.toml. At the end, the tests that failed run again without
    a change, and must pass. The exit status is 1 if a mutant survives.
    """
    areas = [str(choice) for choice in area or Area]
    mutants = _drawn(root, areas, count, seed, only)
    if list_:
        for mutant in mutants:
            out.print(str(mutant), markup=False)
        raise typer.Exit()
    if not hasattr(os, "fork"):
        raise typer.BadParameter("this system cannot fork processes; use Linux or macOS")
    reasons = mutation.equivalents(EQUIVALENT.read_text())
    options = ["-m", "" if slow else "not slow"]
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-"))
        for name in dict.fromkeys(module for area in areas for module in WARM[area]):
            with contextlib.suppress(ImportError):  # packages of extras may be missing
                importlib.import_module(name)
        copies = [_Copy(root, pathlib.Path(folder, str(i)), options, limit) for i in range(jobs)]
        for copy in copies:
            stack.callback(copy.stop)
        results = _run(copies, mutants, reasons, path)
        _check_unchanged(copies[0], results)
    out.print(_table(areas, results))
    survivors = [result for result in results if result.outcome == Outcome.SURVIVED]
    for result in survivors:
        out.print(f"{result.mutant.operator}: {result.mutant}", markup=False)
    raise typer.Exit(1 if survivors else 0)


def tests_of(root, path):
    """Returns the tests for a source file: the tests of this file, the examples in its docstrings,
    the tests that contain names of its functions and classes, and all tests of its area if the area
    is in `WHOLE`.

    Args:
        root: Folder of the package and its tests.
        path: Path of the source file, relative to `root`.
    """
    relative = pathlib.PurePosixPath(path).relative_to("keras_dml").with_suffix("")
    area = relative.parts[0]
    default = f"{relative.parent}/test_{relative.name.strip('_')}"
    nearest = [f"tests/{name}.py" for name in TESTS.get(str(relative), default).split()]
    source = root.joinpath(path).read_text()
    names = set(re.findall(r"^(?:def|class) ([A-Z]\w+|\w{8,})", source, re.M))
    users = [
        file.relative_to(root).as_posix()
        for file in sorted(root.joinpath("tests", area).rglob("test_*.py"))
        if area in WHOLE
        or (file.stem != EVERY_LOSS and names & set(re.findall(r"\w+", file.read_text())))
    ]
    tests = [name for name in dict.fromkeys(nearest + users) if root.joinpath(name).exists()]
    if ">>> " in source and root.joinpath(EXAMPLES).exists():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        tests.insert(len(nearest), f"{EXAMPLES}::test_docstring_examples[{module}]")
    return tests or [f"tests/{area}"]


def _places(path):
    """Returns pytest options that select the kinds of gallery storage in tests."""
    if not path.startswith("keras_dml/gallery/"):
        return []
    return next((options for part, options in PLACES.items() if part in path), IN_PLAIN_FILES)


def _drawn(root, areas, count, seed, only):
    """Draws the same number of mutants from each area."""
    drawn = []
    for i, area in enumerate(areas):
        folder = root / "keras_dml" / area
        files = sorted(folder.rglob("*.py")) if folder.is_dir() else []
        pool = [
            mutant
            for file in files
            for mutant in mutation.mutants(file.relative_to(root).as_posix(), file.read_text())
            if only is None or re.search(only, f"{mutant.path} {mutant.old} {mutant.new}")
        ]
        share = count // len(areas) + (i < count % len(areas))
        drawn += mutation.sample(pool, share, seed)
    if not drawn:
        raise typer.BadParameter(f"{root} has no files to change in {', '.join(areas)}.")
    return drawn


def _check_unchanged(copy, results):
    """Runs the tests that failed for mutants again, without a change of the package."""
    tests = dict.fromkeys(
        result.detail for result in results if result.outcome == Outcome.KILLED and result.detail
    )
    if not tests:
        return
    copy.start(list(tests), float("inf"))
    while copy.poll() is None:
        time.sleep(POLL)
    if copy.poll() != 0:
        out.print(copy.log(), markup=False)
        out.print("These tests fail without any change, so that they tell nothing of mutants.")
        raise typer.Exit(2)


def _run(copies, mutants, reasons, path):
    """Yields the result of each mutant when its tests end, and writes the result to a file."""
    results = []
    with open(os.devnull if path is None else path, "w", newline="", buffering=1) as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for result in progress.track(_ended(copies, mutants, reasons), "mutants", len(mutants)):
            results.append(result)
            mutant = result.mutant
            place = mutant.path, mutant.line, mutant.function, mutant.operator
            outcome = result.outcome, f"{result.seconds:.1f}", result.detail
            writer.writerow([*place, mutant.old, mutant.new, *outcome])
    return results


def _ended(copies, mutants, reasons):
    waiting, idle, busy = list(mutants), list(copies), {}
    while waiting or busy:
        while waiting and idle:
            mutant = waiting.pop(0)
            if mutant.key in reasons:
                yield Result(mutant, Outcome.EQUIVALENT, detail=reasons[mutant.key])
                continue
            copy = idle.pop()
            copy.change(mutant)
            busy[copy] = mutant
        for copy, mutant in list(busy.items()):
            code = copy.poll()
            if code is None:
                continue
            copy.restore()
            idle.append(copy)
            del busy[copy]
            yield Result(mutant, _outcome(code), copy.seconds, copy.failed())
        time.sleep(POLL)


def _outcome(code):
    if code == USAGE_ERROR:
        raise RuntimeError("pytest does not take the tests of a mutant; see TESTS in this file.")
    if code == _Copy.TOO_LONG:
        return Outcome.TIMEOUT
    return Outcome.SURVIVED if code in (0, NO_TESTS) else Outcome.KILLED


class _Copy:
    """Temporary copy of the package, in which a forked process tests one mutant at a time.

    Args:
        root: Folder of the package and its tests.
        folder: Folder for the copy, which must not exist.
        options: Options for pytest.
        limit: Time limit for one run, in seconds.
    """

    TOO_LONG = -1

    def __init__(self, root, folder, options, limit):
        self._root, self._options, self._limit = folder / "tree", options, limit
        self._scratch, self._log = folder / "t", folder / "log"
        shutil.copytree(root, self._root, ignore=IGNORED, symlinks=True)
        # A changed file may have the same size and time as the previous mutant. So bytecode is
        # validated by the content of the file.
        compileall.compile_dir(
            self._root / "keras_dml", quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH
        )
        self._process = self._code = self._file = None
        self.seconds = 0.0

    def tests(self, path):
        return tests_of(self._root, path)

    def change(self, mutant):
        """Writes a mutant to the copy and starts its tests."""
        tests = self.tests(mutant.path)
        self._file = self._root / mutant.path
        self._text = self._file.read_text()
        self._file.write_text(mutant.source)
        self.start([*_places(mutant.path), *tests], self._limit)

    def restore(self):
        self._file.write_text(self._text)

    def start(self, tests, limit):
        """Starts tests, given as arguments of pytest, in a new process group."""
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        self._code, self._start, self._end = None, time.monotonic(), time.monotonic() + limit
        sys.stdout.flush()
        # During a fork, Python would raise an interrupt in a hook of `logging`, where the interrupt
        # is lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process = os.fork()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        if self._process == 0:
            code = 3
            try:
                code = self._test(tests)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def _test(self, tests):
        """Runs tests in the child process, which has not imported any module of the copy yet."""
        os.setsid()
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.chdir(self._root)
        repository = {"keras_dml", "tests", "tfds_builders", "zoo", "export"}
        for name in [name for name in sys.modules if name.split(".")[0] in repository]:
            del sys.modules[name]
        sys.path[:] = [str(self._root), *(path for path in sys.path if path not in ("", str(ROOT)))]
        os.environ["TMPDIR"] = tempfile.tempdir = str(self._scratch)
        import pytest

        options = ["-q", "-x", "-n", "0", "--tb=line", "-p", "no:cacheprovider", *self._options]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins imported before
        plugins = [_FirstFailure(self._scratch / FAILED)]
        return int(pytest.main([*options, f"--rootdir={self._root}", *tests], plugins))

    def poll(self):
        """Returns the exit status of the tests, `TOO_LONG`, or None while the tests run."""
        if self._code is None:
            process, status = os.waitpid(self._process, os.WNOHANG)
            if process:
                self._code = abs(os.waitstatus_to_exitcode(status))
            elif time.monotonic() > self._end:
                self._code = self.TOO_LONG
            else:
                return None
            self.stop()
            self.seconds = time.monotonic() - self._start
        return self._code

    def stop(self):
        """Ends the tests and all processes that they have started, such as a server."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        # A child that has not called `setsid` yet is in no process group of its own.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)
        self._process = None

    def log(self):
        return self._log.read_text(errors="replace")

    def failed(self):
        """Returns the name of the test that failed first, or an empty string."""
        path = self._scratch / FAILED
        return path.read_text() if path.exists() else ""


class _FirstFailure:
    """pytest plugin that writes the name of the first failed test to a file."""

    def __init__(self, path):
        self._path = path

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def pytest_collectreport(self, report):
        self._note(report)

    def _note(self, report):
        if report.failed and not self._path.exists():
            self._path.write_text(report.nodeid)


def _table(areas, results):
    table = Table()
    table.add_column("area")
    for title in ("mutants", *Outcome):
        table.add_column(title, justify="right")
    for area in areas:
        outcomes = [
            result.outcome
            for result in results
            if result.mutant.path.startswith(f"keras_dml/{area}/")
        ]
        counts = len(outcomes), *(outcomes.count(outcome) for outcome in Outcome)
        table.add_row(area, *map(str, counts))
    return table


if __name__ == "__main__":
    app()
