"""Attempts of all groups: drawn from a seed and a number, made in a folder of their own, judged."""

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
SEED = 20
HANGS = 120  # seconds after which an attempt waits for something that never comes


class Attempt(NamedTuple):
    """One attempt; `number` is the same however often the group is tried."""

    group: str
    number: int
    kind: str
    run: object  # function of a generator and of an empty folder; gives a `checks.Verdict`


class Outcome(NamedTuple):
    """How an attempt ended: `verdict` is None where it was wrong, and `why` says how."""

    attempt: Attempt
    verdict: checks.Verdict | None
    why: str = ""


def attempts(group, times=1):
    """The attempts of a group, in order.

    Args:
        group: One of `GROUPS`. Its module has `KINDS`: by the name of a kind of attempt how many
            there are, and the function that makes one.
        times: How often all kinds are gone through.
    """
    kinds = importlib.import_module(f"tests.hostile.{group}").KINDS
    once = [(kind, run) for kind, (count, run) in kinds.items() for _ in range(count)]
    return [Attempt(group, n, *pair) for n, pair in enumerate(times * once)]


def make(attempt, seed=SEED):
    """Makes an attempt beside a folder that it has nothing to do with.

    Args:
        attempt: An `Attempt`.
        seed: With group and number it decides all that is drawn.

    Returns:
        An `Outcome`.
    """
    rng = np.random.default_rng([seed, zlib.crc32(attempt.group.encode()), attempt.number])
    place = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory(prefix="hostile-") as root, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work, bystander = pathlib.Path(root, "work"), pathlib.Path(root, "bystander")
        work.mkdir()
        (bystander / "inner").mkdir(parents=True)
        (bystander / "inner" / "notes.txt").write_text("not yours")
        before = checks.tree(bystander)
        signal.signal(signal.SIGALRM, _hangs)
        signal.alarm(HANGS)
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
            os.chdir(place)
        return Outcome(attempt, verdict)


def _hangs(*_):
    raise checks.Wrong(f"it hangs: no end after {HANGS} s")


def again(attempt, seed=SEED):
    """The command that makes an attempt again."""
    return (
        f"python -m tests.hostile --only {attempt.group} --seed {seed} --attempt {attempt.number}"
    )
