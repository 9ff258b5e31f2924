"""Trains several methods on recordings of people, and writes the best model into a folder."""

from __future__ import annotations

import dataclasses
import math
import numbers
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_dml import _messages, layers, models, progress, quality, training
from keras_dml._arrays import whole
from keras_dml._messages import Message
from keras_dml._typing import Path, Recordings
from keras_dml.training.golden import synthetic_recordings
from keras_dml.training.own import (
    checks,
    cross_validation,
    exports,
    folders,
    kinds,
    leaderboard,
)
from keras_dml.training.own import task as tasks
from keras_dml.training.own.budget import TooSlow
from keras_dml.training.own.card import TrainedModel, build, describe_too_few
from keras_dml.training.own.cross_validation import Evaluation
from keras_dml.training.own.gates import fit_potato
from keras_dml.training.own.methods import Method
from keras_dml.training.own.trainings import (
    FINAL,
    Trainings,
    UnfinishedFolder,
    begin_trainings,
    digest,
)
from keras_dml.training.people import People

CAPTION = (
    "Later recordings are compared with earlier recordings by models that were not trained "
    "on these people."
)
SLOWER = "because the machine became too slow during the training"


@dataclasses.dataclass(frozen=True)
class Trained:
    """Result of `train`.

    Attributes:
        folder: Folder of the model, for `keras_dml.zoo.load`.
        method: Name of the method that the model uses.
        leaderboard: List of dicts, each with the results of one method. The best method comes
            first. The keys are `method`, `what`, `chosen`, `seconds`, `eer`, `auc` and
            `tar_at_far_0.01`. Keys such as `eer_ci95` contain the 95 % intervals over people. The
            list is empty if there are too few people.
        card: The card as a dict, as it was written.
        refused: Dict `{name: reason}` of the recordings that were left out.
        not_exported: Reason why a TFLite file is missing. If all TFLite files are written,
            `not_exported` is None.
        notes: Dict `{sentence: number of files}` with the assumptions that were made while files
            were read.
        resampled_hz: Rate to which the recordings of files were resampled. If recordings were not
            resampled, `resampled_hz` is None.
    """

    folder: pathlib.Path
    method: str
    leaderboard: list[Any]
    card: dict[str, Any]
    refused: dict[str, str]
    not_exported: str | None = None
    notes: dict[str, int] = dataclasses.field(default_factory=dict)
    resampled_hz: float | None = None

    def __str__(self) -> str:
        if not self.leaderboard:
            return self.card["headline"]["unmeasured"]
        table = f"{leaderboard.CHOSEN_FROM}\n{leaderboard.text(self.leaderboard)}"
        return f"{leaderboard.headline(self.card)}\n\n{table}"


def train(
    recordings: Recordings,
    people: Sequence[str],
    sessions: Sequence[Any] | None = None,
    *,
    channels: str | Sequence[str],
    rate_hz: float | None,
    out: Path,
    units: str | Sequence[str] = "as recorded",
    window: float | None = None,
    kind: str | None = None,
    minutes: float = 10.0,
    steps: int | None = None,
    seed: int = 0,
    resume: bool = False,
    replace: bool = False,
    names: Sequence[str] | None = None,
    files: Sequence[str] | None = None,
    name_people: bool = False,
) -> Trained:
    """Trains several methods on recordings of people, and writes the best model into a folder.

    The function leaves out recordings that are flat, clipped, interrupted, in another unit, or
    copies of other recordings. The closed-form methods are fitted first. If there is enough time, a
    network for this kind of recordings is also trained. Cross-validation over groups of people
    measures all methods. Later recordings are compared with earlier recordings. If there are
    sessions, the last session is compared with the earlier sessions. The best method is then
    trained on all people.

    The headline of the card gives error rates that include the effect of choosing the best method.
    With six or more people, the choice of the method for a group of people depends only on models
    that were not trained on this group. With fewer than four people, the model uses a method
    without training, and the card gives no error rate. TFLite files are written into the same
    folder if the optional packages of the extra `edge` are installed.

    Args:
        recordings: Arrays of shape `(time, channels)`.
        people: Name of the person who made each recording.
        sessions: Session of each recording, as a value that increases with time, such as the date.
            If the sessions are unknown, use None.
        channels: Names of the channels, in order.
        rate_hz: Number of steps per second. Use None for events, such as key presses. Events have
            no rate and must be in order. Write the time between events as a channel.
        out: Folder of the model, which is new or empty. The name of the folder becomes the name of
            the model.
        units: Unit of each channel, or one text for all channels.
        window: Length of the windows that are compared, in seconds, or number of events per
            window. Default: 10 s for `"sequences"`, 2 s for `"covariances"`, 4 s for `"sound"` and
            50 events. If 95 % of the recordings reach only a shorter length, the default is this
            shorter length.
        kind: Kind of the recordings: `"sequences"` for motion or events, `"covariances"` for many
            channels such as EEG, or `"sound"` for audio with one channel. Default: inferred from
            the number of channels and the rate.
        minutes: Approximate time for the whole training. Closed-form methods are always fitted.
            Networks take as many steps as the time allows. If the machine becomes slower, networks
            take fewer steps or are left out, and the card reports this. If the machine becomes up
            to 2.5 times slower, the training ends within about 1.2 times `minutes`.
        steps: Number of training steps of each network. Replaces `minutes`. The same steps and seed
            give the same model.
        seed: Random seed for weights, batches and groups of people.
        resume: Whether to continue an interrupted training in this folder. If all other arguments
            stay the same, the result equals the result of an uninterrupted training. The resumed
            training again has the full time limit. If the training of a network had begun before
            the interruption, its number of steps does not change.
        replace: Whether an existing model in the folder may be replaced.
        names: Name of each recording in messages, such as its file.
        files: File of each recording, needed if files were cut into several recordings. Recordings
            from the same file are not compared with each other, unless a person has only one file.
            By default, each recording has its own file.
        name_people: Whether the card and the page of the model list the names of the people. If
            False, the card and the page contain numbers and digests and no names.
            `Gallery.calibrate` uses the digests to recognize people whose recordings were used in
            training.

    Returns:
        `Trained`.

    Raises:
        TypeError, ValueError: If an argument is invalid, if nearly all recordings are left out, if
            only one person remains, or if an interrupted training used other recordings, settings
            or methods.
        FileExistsError: If the folder contains a model and `replace` is False.
        OSError: If the folder cannot be written.
    """
    start = time.monotonic()
    check_positive("minutes", minutes)
    are_events = rate_hz is None
    if not are_events:
        check_positive("rate_hz", rate_hz)
    seed = whole("seed", seed, 0)
    steps = None if steps is None else whole("steps", steps, 0)
    folder = folders.check_out(out, replace=replace, resume=resume)
    channels, units = checks.check_channels(channels, units)
    recordings, people, sessions, names = checks.check_lists(recordings, people, sessions, names)
    kind = tasks.resolve_kind(kind, len(channels), rate_hz)
    usable, usable_names, usual, refused = checks.select_usable(
        recordings,
        people,
        sessions,
        names,
        quality.Usual(channels, kind == tasks.SOUND, units=units, events=are_events),
    )
    length = tasks.resolve_window(window, kind, rate_hz, [len(signal) for signal in usable.signals])
    usable, short = checks.select_long(usable, length, usable_names)
    refused |= short
    if not usable.signals:
        raise ValueError(
            Message(
                "No recording is as long as a window. {reasons}", reasons=checks.summarize(short)
            )
        )
    remaining = len(usable.signals), len(set(usable.subjects))
    checks.check_remaining(*remaining, len(recordings), len(set(people)), refused)
    files = names if files is None else list(files)
    if len(files) != len(names):
        raise ValueError(
            Message(
                "{files} has length {count}, but it must have one entry for each of the "
                "{expected} recordings.",
                count=len(files),
                expected=len(names),
            )
        )
    file_of = dict(zip(names, files, strict=True))
    usable_files = [file_of[name] for name in usable_names if name not in short]
    usable, repeats = tasks.split_sides(usable, usable_files)
    gravity = not are_events and tasks.has_gravity(usable.signals)
    rate_hz = None if are_events else float(rate_hz)
    task = tasks.Task(channels, units, rate_hz, kind, length, gravity, repeats, seed)
    methods = kinds.methods(task)
    folder.mkdir(parents=True, exist_ok=True)
    method_names = [method.name for method in methods]
    work = UnfinishedFolder(folder, digest(task, usable, {"steps": steps}), method_names, resume)
    seconds = math.inf if steps is not None else 60 * minutes
    trained = _train_best(
        task, usable, methods, work, steps, lambda: seconds - (time.monotonic() - start)
    )
    trained = dataclasses.replace(trained, name_people=bool(name_people))
    if refused:
        trained.notes.append(
            f"{len(refused)} of {len(recordings)} recordings were unusable and were left out."
        )
    exports.remove(folder)
    leaderboard.remove_curves(folder)
    _publish(folder, trained, usual, work.steps.get(FINAL, work.planned), start)
    rows = leaderboard.rows(trained.evaluations, trained.method)
    leaderboard.save(rows, folder)
    card, not_exported = exports.write(folder, task, usable)
    work.remove()
    return Trained(folder, trained.method.name, rows, card, refused, not_exported)


def _train_best(
    task: tasks.Task,
    people: People,
    methods: list[Method],
    work: UnfinishedFolder,
    steps: int | None,
    seconds_left: Callable[[], float],
) -> TrainedModel:
    """Evaluates all methods and trains the best one on all people."""
    groups = cross_validation.split_into_groups(task, people)
    if not groups:
        method = kinds.untrained(methods)
        counts = len(set(people.subjects)), len(tasks.measurable(people, task.window))
        model = method.model(task, people)
        return TrainedModel(task, people, method, model, [], [], describe_too_few(*counts))
    evaluations = []
    for method in methods:
        if not method.is_network:
            evaluations += _evaluate(task, people, groups, method, seconds_left)
    notes, trainings = [], None
    for network in (method for method in methods if method.is_network):
        trainings = begin_trainings(work, task, people, groups, network, steps, seconds_left)
        if not work.planned:
            reason = "as requested" if steps == 0 else "because the time is too short to train it"
            notes.append(f"The network {network.name} was left out, {reason}.")
            continue
        try:
            evaluations += _evaluate(task, people, groups, network, seconds_left, trainings)
        except TooSlow:
            work.begin(0)
            notes.append(f"The network {network.name} was left out, {SLOWER}.")
    method = cross_validation.best_method(evaluations).method
    model = method.model(task, people, trainings.run() if method.is_network else None)
    if evaluations[-1].method.is_network:
        notes += trainings.describe_changes(network.name)
    return TrainedModel(task, people, method, model, evaluations, notes)


def _evaluate(
    task: tasks.Task,
    people: People,
    groups: list[People],
    method: Method,
    seconds_left: Callable[[], float],
    trainings: Trainings | None = None,
) -> list[Evaluation]:
    """Evaluates a method on all groups, with each scoring that its models support.

    `trainings` is None for a closed-form method. The first evaluation has the scoring `nearest`.
    """
    start, embed = time.monotonic(), cross_validation.Embedder()

    def measure(left_out, description):
        for indices in progress.track(left_out, f"{method.name}, {description}"):
            tested = [groups[i] for i in indices]
            rest = cross_validation.without_groups(people, tested)
            run = None if trainings is None else trainings.run(*indices)
            model = method.model(task, rest, run)
            windows = cross_validation.unit_windows(task, rest)
            fitted = task.to_measure(rest)
            yield (
                indices,
                cross_validation.evaluate_scorings(model, fitted, windows, tested, embed),
            )

    single = [(i,) for i in range(len(groups))]
    parts = [results for _, results in measure(single, "groups")]
    seconds = time.monotonic() - start
    is_slow = method.is_network or cross_validation.is_slow(seconds, seconds_left())
    pairs = [*measure(cross_validation.nested_pairs(len(groups), is_slow), "choice")]
    seconds = time.monotonic() - start
    results = [*parts, *(scorings for _, scorings in pairs)]
    evaluations = []
    for scoring in results[0]:
        if not all(scoring in each for each in results):
            continue  # a model has too few people for the two-covariance model
        nested = {}
        for pair, scorings in pairs:
            nested |= zip([pair, pair[::-1]], scorings[scoring], strict=True)
        scored = method if scoring == method.scoring else method.with_scoring(scoring)
        singles = tuple(part for each in parts for part in each[scoring])
        evaluations.append(Evaluation(scored, singles, seconds, nested))
    return evaluations


def _publish(folder, trained, usual, steps, start):
    """Publishes the model with its input contract, quality gate, card and page."""
    task, windows = trained.task, trained.task.to_fit(trained.people).signals
    contract = layers.InputContract(
        task.channels,
        task.units,
        task.rate_hz,
        min_steps=task.window,
        events=task.rate_hz is None,
        name="input_contract",
    )
    if not usual.is_sound:
        contract.adapt(windows)
    model = models.with_contract(trained.model, contract)
    values = np.concatenate(windows)
    mean, stddev = values.mean(axis=0), values.std(axis=0)
    examples = synthetic_recordings(len(mean), (task.window, task.window * 3 // 2), stddev)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        potato, files = fit_potato(task, trained.people, trained.model), []
        if potato is not None:
            files = [scratch / quality.FILE]
            potato.save(files[0])
        gate = quality.described(usual, *files)
        minutes = (time.monotonic() - start) / 60
        card = {
            "name": folder.name,
            **build(trained, gate, _command(task, steps), minutes),
        }
        curves = None
        if trained.evaluations:
            curves = leaderboard.curves(trained.evaluations, scratch, CAPTION)
        golden = [example + mean for example in examples]
        training.publish(folder, model, card, golden, curves, files)


def _command(task, steps):
    """Returns Python code that trains the same model again from the same recordings."""
    arguments = {
        "channels": list(task.channels),
        "rate_hz": task.rate_hz,
        "window": task.length,
        "kind": task.kind,
        "steps": steps or 0,
        "seed": task.seed,
    }
    words = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    return f"keras_dml.training.train(recordings, people, sessions, out=..., {words})"


def check_positive(name: str, value: float) -> None:
    """Checks that an argument is a positive number."""
    if not isinstance(value, numbers.Real) or not 0 < value < math.inf:
        raise ValueError(
            Message(
                "{argument} is {value!r}, but it must be a positive number.",
                argument=_messages.name(name),
                value=value,
            )
        )
