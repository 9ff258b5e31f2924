"""The folder of a training that is not finished: what was asked for, the steps that were found, and
checkpoints. Whoever goes on gets the same model, where the time did not change the steps."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import pathlib
import shutil

import numpy as np

from keras_dml import _files
from keras_dml.training.own.folders import UNFINISHED
from keras_dml.training.runs import write_json

PLAN = "plan.json"
_place = functools.partial(
    _files.replaceable_folder,
    what="training that was not finished",
    mark=PLAN,
    members=(PLAN, "fold_*", "fold_*/*", "final", "final/*"),
)


def digest(task, people, asked):
    """What a training depends on, as a digest.

    Args:
        task: `keras_dml.training.own.task.Task`.
        people: `keras_dml.training.People`.
        asked: Further settings, plain numbers and texts by name.
    """
    found = hashlib.sha256(json.dumps([dataclasses.asdict(task), asked]).encode())
    owners = zip(people.subjects, people.sessions, strict=True)
    for signal, owner in zip(people.signals, owners, strict=True):
        found.update(f"{owner}{signal.shape}".encode())
        found.update(np.ascontiguousarray(signal).tobytes())
    return found.hexdigest()


class Unfinished:
    """The folder of a training.

    Args:
        out: Folder of the model.
        made_of: `digest`.
        methods: Names of the methods that are compared.
        resume: Whether to go on with what is there; else it is deleted.

    Raises:
        ValueError: If something else lies there, it is damaged, or of other recordings, settings or
            methods.
    """

    def __init__(self, out, made_of, methods, resume):
        self.path, self._made_of = _place(pathlib.Path(out) / UNFINISHED), made_of
        self._methods = list(methods)
        self.resume = resume and (self.path / PLAN).is_file()
        if not self.resume:
            shutil.rmtree(self.path, ignore_errors=True)
        self._plan = self._read() if self.resume else None

    @property
    def steps(self):
        """Steps that were planned of each training; None before `begin`."""
        return None if self._plan is None else self._plan["steps"]

    @property
    def taken(self):
        """Steps of each training that was begun, by its name."""
        return {} if self._plan is None else self._plan["taken"]

    def begin(self, steps):
        """Notes the steps that are planned of each training."""
        asked = {"of": self._made_of, "methods": self._methods}
        self._plan = {**asked, "steps": steps, "taken": {}}
        with _files.staged(self.path, _place) as candidate:
            candidate.mkdir()
            write_json(candidate / PLAN, self._plan)

    def note(self, name, steps):
        """Notes the steps of one of the trainings."""
        self.taken[name] = steps
        write_json(self.path / PLAN, self._plan)

    def part(self, name):
        """Folder of one of the trainings."""
        return self.path / name

    def remove(self):
        """Deletes the folder, once the model is written."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _read(self):
        path = self.path / PLAN
        try:
            plan = json.loads(path.read_text(encoding="utf-8"))
            steps, of, methods = int(plan["steps"]), plan["of"], list(map(str, plan["methods"]))
            taken = {name: int(own) for name, own in plan["taken"].items()}
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged ({error}). Delete the folder {self.path}, or train without "
                "`resume`."
            ) from error
        if of != self._made_of:
            raise ValueError(
                f"{self.path} is of other recordings or settings. Give the same ones, or train "
                "without `resume`, which begins anew."
            )
        if methods != self._methods:
            raise ValueError(
                f"{self.path} is of a training that compared {', '.join(methods)}; this one "
                f"compares {', '.join(self._methods)}. Which methods there are depends on the "
                "version of keras-dml and on its zoo: go on with those that it was begun with, or "
                "train without `resume`, which begins anew."
            )
        return {"of": of, "methods": methods, "steps": steps, "taken": taken}
