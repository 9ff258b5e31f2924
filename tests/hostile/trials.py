"""Runs the attempts of all groups in separate folders. Each attempt has a seed and a number."""

import importlib
import os
import pathlib
import signal
import tempfile
import traceback
import warnings
import zlib
from typing import NamedTuple

import numpy as np

from tests.hostile import checks

GROUPS = ("model_files", "cards", "archives", "arrays", "labels", "paths", "kills")
GROUPS += ("recordings", "names", "galleries", "requests")
SEED = 20
TIMEOUT = 120  # seconds after which an attempt counts as hanging


class Attempt(NamedTuple):
    """An attempt. `number` does not depend on the number of repetitions of the group."""

    group: str
    number: int
    kind: str
    run: object  # function (generator, empty folder) -> `checks.Verdict`


class Outcome(NamedTuple):
    """Outcome of an attempt. If the outcome is wrong, `verdict` is None and `why` is a reason."""

    attempt: Attempt
    verdict: checks.Verdict | None
    why: str = ""


def attempts(group, times=1):
    """Returns the attempts of a group, in order.

    Args:
        group: Name in `GROUPS`, which is also the name of a module. For each kind of attempt, the
            constant `KINDS` of this module contains the number of attempts and the function that
            runs an attempt.
        times: Number of repetitions of all attempts.
    """
    kinds = importlib.import_module(f"tests.hostile.{group}").KINDS
    once = [(kind, run) for kind, (count, run) in kinds.items() for _ in range(count)]
    return [Attempt(group, n, *pair) for n, pair in enumerate(times * once)]


def run(attempt, seed=SEED):
    """Runs an attempt in a temporary folder. Next to this folder is another folder that the attempt
    must not change.

    Args:
        attempt: The `Attempt` to run.
        seed: Seed of the random numbers, which also depend on the group and the number.

    Returns:
        The `Outcome`.
    """
    rng = np.random.default_rng([seed, zlib.crc32(attempt.group.encode()), attempt.number])
    cwd = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory(prefix="hostile-") as root, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work, bystander = pathlib.Path(root, "work"), pathlib.Path(root, "bystander")
        work.mkdir()
        (bystander / "inner").mkdir(parents=True)
        (bystander / "inner" / "notes.txt").write_text("not yours")
        before = checks.tree(bystander)
        signal.signal(signal.SIGALRM, _time_out)
        signal.alarm(TIMEOUT)
        try:
            verdict = attempt.run(rng, work)
            checks.check_tree(bystander, before)
            checks.check_tree(root, {}, but=("work", "bystander"))
        except checks.Wrong as wrong:
            return Outcome(attempt, None, str(wrong))
        except Exception:
            return Outcome(attempt, None, f"the attempt itself: {traceback.format_exc(limit=-3)}")
        finally:
            signal.alarm(0)
            os.chdir(cwd)
        return Outcome(attempt, verdict)


def _time_out(*_):
    raise checks.Wrong(f"it hangs: no end after {TIMEOUT} s")


def command(attempt, seed=SEED):
    """Returns the command that repeats an attempt."""
    return (
        f"python -m tests.hostile --only {attempt.group} --seed {seed} --attempt {attempt.number}"
    )
