"""Plans and resumes the trainings of a network during cross-validation.

Resuming gives the same model unless the time limit changes the number of steps.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pathlib
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_dml import _files
from keras_dml._messages import Message
from keras_dml.training.own import budget
from keras_dml.training.own.cross_validation import nested_pairs
from keras_dml.training.own.folders import UNFINISHED
from keras_dml.training.own.methods import Method, Run
from keras_dml.training.runs import write_json

if TYPE_CHECKING:
    from keras_dml._typing import Path
    from keras_dml.training.own.task import Task
    from keras_dml.training.people import People

PLAN = "plan.json"
FINAL = "final"  # name of the training that uses all people
_replaceable_folder = functools.partial(
    _files.replaceable_folder,
    what="unfinished training",
    mark=PLAN,
    members=(PLAN, "fold_*", "fold_*/*", "final", "final/*"),
)


def digest(task: Task, people: People, settings: dict[str, Any]) -> str:
    """Computes a digest of everything that influences a training.

    Args:
        task: Task of the training.
        people: All recordings.
        settings: Further settings, as a dict whose values are numbers and texts.
    """
    result = hashlib.sha256(json.dumps([dataclasses.asdict(task), settings]).encode())
    owners = zip(people.subjects, people.sessions, strict=True)
    for signal, owner in zip(people.signals, owners, strict=True):
        result.update(f"{owner}{signal.shape}".encode())
        result.update(np.ascontiguousarray(signal).tobytes())
    return result.hexdigest()


class UnfinishedFolder:
    """Folder with the settings, the planned steps and the checkpoints of an unfinished training.

    Args:
        out: Folder of the model.
        made_of: `digest` of the recordings and settings.
        methods: Names of the methods that are compared.
        resume: Whether to continue from the contents of the folder. If False, the contents are
            deleted.

    Raises:
        ValueError: If the path is not a folder, if the plan is damaged, or if the plan was made for
            other recordings, settings or methods.
    """

    def __init__(self, out: Path, made_of: str, methods: list[str], resume: bool) -> None:
        self.path: pathlib.Path = _replaceable_folder(pathlib.Path(out) / UNFINISHED)
        self._made_of, self._methods = made_of, list(methods)
        self.resume: bool = resume and (self.path / PLAN).is_file()
        if not self.resume:
            shutil.rmtree(self.path, ignore_errors=True)
        self._plan = self._read() if self.resume else None

    @property
    def planned(self) -> int | None:
        """Planned number of steps of each training, or None before `begin` is called."""
        return None if self._plan is None else self._plan["steps"]

    @property
    def steps(self) -> dict[str, int]:
        """Dict `{name: steps}` with the number of steps of each training that has begun."""
        return {} if self._plan is None else self._plan["taken"]

    def begin(self, planned: int) -> None:
        """Writes the planned number of steps of each training."""
        settings = {"of": self._made_of, "methods": self._methods}
        self._plan = {**settings, "steps": planned, "taken": {}}
        with _files.staged(self.path, _replaceable_folder) as candidate:
            candidate.mkdir()
            write_json(candidate / PLAN, self._plan)

    def set_steps(self, name: str, steps: int) -> None:
        """Writes the number of steps of one training."""
        self.steps[name] = steps
        write_json(self.path / PLAN, self._plan)

    def checkpoint(self, name: str) -> pathlib.Path:
        """Returns the checkpoint folder of one training."""
        return self.path / name

    def remove(self) -> None:
        """Deletes the folder. This method is called after the model is written."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _read(self):
        path = self.path / PLAN
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))
            planned, made_of = int(plan["steps"]), plan["of"]
            methods = list(map(str, plan["methods"]))
            steps = {name: int(count) for name, count in plan["taken"].items()}
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                Message(
                    "{path} is damaged ({error}). Delete the folder {folder}, or train without "
                    "{resume}.",
                    path=path,
                    error=error,
                    folder=self.path,
                )
            ) from error
        if made_of != self._made_of:
            raise ValueError(
                Message(
                    "{folder} belongs to a training with other recordings or settings. Continue "
                    "with the recordings and settings of that training, or start again without "
                    "{resume}.",
                    folder=self.path,
                )
            )
        if methods != self._methods:
            raise ValueError(
                Message(
                    "{folder} belongs to a training that compared {earlier}, but this training "
                    "compares {methods}. The methods depend on the version of keras-dml and on the "
                    "models of its zoo. Continue with the version and the models of that training, "
                    "or start again without {resume}.",
                    folder=self.path,
                    earlier=", ".join(methods),
                    methods=", ".join(self._methods),
                )
            )
        return {"of": made_of, "methods": methods, "steps": planned, "taken": steps}


class Trainings:
    """Trainings of a network. Each training leaves out a group or a pair of groups, except for the
    last training, which uses all people.

    Args:
        work: `UnfinishedFolder` of the training, after its method `begin` was called.
        limit: Time budget.
    """

    def __init__(self, work: UnfinishedFolder, limit: budget.Budget) -> None:
        self._work, self._limit = work, limit

    def run(self, *left_out: int) -> Run:
        """Begins one training.

        Args:
            *left_out: Indices of the groups that are left out. Without an index, the training uses
                all people.

        Raises:
            TooSlow: If the remaining time is too short for this training, see `Budget`.
        """
        name = "_".join(["fold", *(str(i + 1) for i in left_out)]) if left_out else FINAL
        set_steps = functools.partial(self._work.set_steps, name)
        steps = self._limit.begin(self._work.steps.get(name))
        set_steps(steps)
        return Run(self._work.checkpoint(name), steps, self._work.resume, self._limit, set_steps)

    def describe_changes(self, name: str) -> list[str]:
        """Returns sentences that say how the number of steps differs from the plan.

        Args:
            name: Name of the network.
        """
        steps, planned = self._work.steps, self._work.planned
        if set(steps.values()) <= {planned}:
            return []
        measured = [count for training, count in steps.items() if training != FINAL]
        fewest, most = min(measured), max(measured)
        counts = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
        final = ""
        if FINAL in steps:
            final = f", and the model that was trained on all people took {steps[FINAL]:,} steps"
        return [
            f"The machine became slower during the training. {planned:,} steps were planned for "
            f"each model of {name}, but the measured models took {counts} steps{final}."
        ]


def begin_trainings(
    work: UnfinishedFolder,
    task: Task,
    people: People,
    groups: list[People],
    network: Method,
    steps: int | None,
    seconds_left: Callable[[], float],
) -> Trainings:
    """Plans the trainings of a network and writes the plan to the folder.

    Args:
        work: Folder of the unfinished training.
        task: Task of the training.
        people: `People` with the recordings to train on.
        groups: Groups of people, see `cross_validation.split_into_groups`.
        network: The network, a `Method`.
        steps: Number of steps of each training. If None, each training takes as many steps as the
            time allows.
        seconds_left: Function that returns the remaining seconds.
    """
    count = len(groups) + len(nested_pairs(len(groups), is_slow=True)) + 1
    if steps is None:
        limit = budget.measured_budget(seconds_left, network, task, people, count, work.planned)
    else:
        limit = budget.fixed_budget(count, steps)
    if work.planned is None:
        work.begin(limit.planned)
    return Trainings(work, limit)
