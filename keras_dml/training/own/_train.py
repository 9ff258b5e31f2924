"""`train`: from recordings of people to a model in a folder as those of the zoo."""

from __future__ import annotations

import dataclasses
import math
import numbers
import pathlib
import tempfile
import time

import numpy as np

from keras_dml import layers, models, progress, quality, training
from keras_dml._arrays import whole
from keras_dml.training.golden import synthetic_recordings
from keras_dml.training.own import across, checks, choice, exports, folders, kinds, leaderboard
from keras_dml.training.own import task as tasks
from keras_dml.training.own.budget import TooSlow
from keras_dml.training.own.card import Made, build, few
from keras_dml.training.own.gates import potato_of
from keras_dml.training.own.trainings import FINAL, begun
from keras_dml.training.own.unfinished import Unfinished, digest

CAPTION = "Later recordings against earlier ones, by models that never saw these people."
SLOWER = "since the machine became too slow for it on the way"


@dataclasses.dataclass(frozen=True)
class Trained:
    """What a training made.

    Attributes:
        folder: Folder of the model, as `keras_dml.zoo.load` takes it.
        method: Name of the method that became the model.
        leaderboard: A dict a method, the best first: `method`, `what`, `chosen`, `eer`, `auc`,
            `tar_at_far_0.01` with their intervals `..._ci95` over people, `seconds`; empty where
            too few people are at hand.
        card: The card as written.
        refused: Why recordings were left out, by their names.
        not_exported: Why a file for devices is missing, in words; None where they are written.
        notes: Sentences about what was assumed when files were read, with the number of files.
        resampled_hz: Rate that the recordings of files were resampled to; None if they were not.
    """

    folder: pathlib.Path
    method: str
    leaderboard: list
    card: dict
    refused: dict
    not_exported: str | None = None
    notes: dict = dataclasses.field(default_factory=dict)
    resampled_hz: float | None = None

    def __str__(self):
        if not self.leaderboard:
            return self.card["headline"]["unmeasured"]
        chosen_from = f"{leaderboard.CHOSEN_FROM}\n{leaderboard.text(self.leaderboard)}"
        return f"{leaderboard.expected(self.card)}\n\n{chosen_from}"


def train(
    recordings,
    people,
    sessions=None,
    *,
    channels,
    rate_hz,
    out,
    units="as recorded",
    window=None,
    kind=None,
    minutes=10.0,
    steps=None,
    seed=0,
    resume=False,
    replace=False,
    names=None,
    files=None,
    name_people=False,
) -> Trained:
    """Trains on recordings of one's own, and writes what tells people apart best into a folder.

    Recordings that are flat, clipped, interrupted, of another unit, or there twice are left out.
    Methods in closed form come first, then a network of the kind, within the time. All are measured
    on groups of people whom they have not seen, later recordings against earlier ones: of the last
    session where there are sessions. The best one is made anew of all people. The card's headline
    measures the choice too: for each group the method is chosen by models that saw nobody of it,
    from six people on. With fewer than four people the model is one that learns nothing of them,
    and no rate is given. TFLite files of it are written beside it (extra `edge`).

    Args:
        recordings: Arrays of shape `(time, channels)`.
        people: Person of each recording.
        sessions: Session of each, such as the day, which sort in the order of time; None for none.
        channels: Names of the channels, in order.
        rate_hz: Steps a second.
        out: Folder of the model, which is new or empty; its name is that of the model.
        units: Unit of each channel, or one text for all.
        window: Seconds that are compared; None: 10 for `"sequences"`, 2 for `"covariances"`,
            4 for `"sound"`, or the length that 95 % of the recordings have.
        kind: `"sequences"` of motion, `"covariances"` of many channels such as EEG, `"sound"` of
            one channel; None: by the channels and the rate.
        minutes: Time for all, about. Closed forms are made whatever they take; networks take as
            many steps as there is time for, fewer where the machine becomes slower on the way,
            which the card says, and are left out where they would be too few. If it becomes slower
            by up to 2.5 times, all ends within 1.2 times the minutes or so.
        steps: Steps of each training of a network in place of `minutes`: the same steps and seed
            give the same model.
        seed: Seed of weights, batches and groups of people.
        resume: Whether to go on with a training that was stopped in this folder: with the same
            arguments it ends as if it had not been. The minutes begin anew, and trainings of a
            network that were begun keep their steps.
        replace: Whether an earlier model in the folder may be replaced.
        names: Name of each recording in what is said of it, such as its file.
        files: File of each recording, if files were cut into several recordings. Recordings of one
            file are not enrolled and observed against each other, unless a person has only one
            file. None: each recording is a file.
        name_people: Whether the card and the page of the model list the names of the people.
            Otherwise they have numbers there, and digests by which `Gallery.calibrate` recognizes
            somebody whom the model has seen.

    Returns:
        `Trained`.

    Raises:
        TypeError, ValueError: If an argument is invalid, nearly all recordings or all people but
            one are left out, or a training that was stopped is of other recordings, settings or
            methods.
        FileExistsError: If a model is in the folder and `replace` is False.
        OSError: If the folder cannot be written.
    """
    start = time.monotonic()
    check_positive("minutes", minutes)
    check_positive("rate_hz", rate_hz)
    seed = whole("seed", seed, 0)
    steps = None if steps is None else whole("steps", steps, 0)
    folder = folders.checked(out, replace=replace, resume=resume)
    channels, units = checks.check_channels(channels, units)
    recordings, people, sessions, names = checks.check_lists(recordings, people, sessions, names)
    kind = tasks.kind_of(kind, len(channels), rate_hz)
    found, kept, usual, refused = checks.accepted(
        recordings,
        people,
        sessions,
        names,
        quality.Usual(channels, kind == tasks.SOUND, units=units),
    )
    length = tasks.window_of(window, kind, rate_hz, [len(signal) for signal in found.signals])
    found, short = checks.long_enough(found, length, kept)
    refused |= short
    if not found.signals:
        raise ValueError(f"No recording has a whole window. {checks.shown(short)}")
    remaining = len(found.signals), len(set(found.subjects))
    checks.check_remaining(*remaining, len(recordings), len(set(people)), refused)
    files = names if files is None else list(files)
    if len(files) != len(names):
        raise ValueError(
            f"`files` must have one entry per recording, {len(names)}. Received {len(files)}."
        )
    file_of = dict(zip(names, files, strict=True))
    found, repeats = tasks.in_sides(found, [file_of[name] for name in kept if name not in short])
    gravity = tasks.has_gravity(found.signals)
    task = tasks.Task(channels, units, float(rate_hz), kind, length, gravity, repeats, seed)
    methods = kinds.methods(task)
    folder.mkdir(parents=True, exist_ok=True)
    names_of = [method.name for method in methods]
    work = Unfinished(folder, digest(task, found, {"steps": steps}), names_of, resume)
    seconds = math.inf if steps is not None else 60 * minutes
    made = _made(task, found, methods, work, steps, lambda: seconds - (time.monotonic() - start))
    made = dataclasses.replace(made, name_people=bool(name_people))
    if refused:
        made.notes.append(
            f"{len(refused)} of {len(recordings)} recordings were not fit and left out."
        )
    exports.remove(folder)
    leaderboard.remove_curves(folder)
    _write(folder, made, usual, work.taken.get(FINAL, work.steps), start)
    rows = leaderboard.rows(made.scored, made.method)
    leaderboard.save(rows, folder)
    written, not_exported = exports.write(folder, task, found)
    work.remove()
    return Trained(folder, made.method.name, rows, written, refused, not_exported)


def _made(task, people, methods, work, steps, seconds_left):
    """The best method's model of all people, with what was measured and what is to be said."""
    groups = across.divided(task, people)
    if not groups:
        method = kinds.untrained(methods)
        counted = len(set(people.subjects)), len(tasks.measurable(people, task.window))
        return Made(task, people, method, method.model(task, people), [], [], few(*counted))
    scored = [
        _scored(task, people, groups, method, seconds_left)
        for method in methods
        if not method.is_network
    ]
    notes, trainings = [], None
    for network in (method for method in methods if method.is_network):
        trainings = begun(work, task, people, groups, network, steps, seconds_left)
        if not work.steps:
            reason = "as was asked" if steps == 0 else "the time is too short for it"
            notes.append(f"The network {network.name} was left out, {reason}.")
            continue
        try:
            scored.append(_scored(task, people, groups, network, seconds_left, trainings))
        except TooSlow:
            work.begin(0)
            notes.append(f"The network {network.name} was left out, {SLOWER}.")
    method = choice.best(scored).method
    model = method.model(task, people, trainings.run() if method.is_network else None)
    if scored[-1].method.is_network:
        notes += trainings.in_words(scored[-1].method.name)
    return Made(task, people, method, model, scored, notes)


def _scored(task, people, groups, method, seconds_left, trainings=None):
    """A method on all groups, and what chooses it for each; `trainings` are those of a network."""
    start, embed = time.monotonic(), across.Embedder()

    def measured(left_out, what):
        for indices in progress.track(left_out, f"{method.name}, {what}"):
            tested = [groups[i] for i in indices]
            known = across.known(people, tested)
            run = None if trainings is None else trainings.run(*indices)
            model = method.model(task, known, run)
            yield indices, across.scored(model, across.for_unit(task, known), tested, embed)

    alone = [(i,) for i in range(len(groups))]
    parts = [found for _, (found,) in measured(alone, "groups")]
    taken = time.monotonic() - start
    pairs = choice.pairs(len(groups), method.is_network or choice.is_long(taken, seconds_left()))
    apart = {}
    for pair, found in measured(pairs, "choice"):
        apart |= zip([pair, pair[::-1]], found, strict=True)
    return across.Scored(method, tuple(parts), time.monotonic() - start, apart)


def _write(folder, made, usual, steps, start):
    """Publishes the model with its contract, gate, card and page."""
    task, windows = made.task, made.task.to_fit(made.people).signals
    contract = layers.InputContract(
        task.channels, task.units, task.rate_hz, min_steps=task.window, name="input_contract"
    )
    if not usual.is_sound:
        contract.adapt(windows)
    model = models.with_contract(made.model, contract)
    steps_of = np.concatenate(windows)
    mean, stddev = steps_of.mean(axis=0), steps_of.std(axis=0)
    examples = synthetic_recordings(len(mean), (task.window, task.window * 3 // 2), stddev)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        potato, beside = potato_of(task, made.people, made.model), []
        if potato is not None:
            beside = [scratch / quality.FILE]
            potato.save(beside[0])
        gate = quality.described(usual, *beside)
        minutes = (time.monotonic() - start) / 60
        found = build(made, gate, _command(task, steps), minutes)
        curves = None
        if made.scored:
            curves = leaderboard.curves(made.scored, scratch, CAPTION)
        card = {"name": folder.name, **found}
        golden = [example + mean for example in examples]
        training.publish(folder, model, card, golden, curves, beside)


def _command(task, steps):
    """The call that trains the same model again from the same recordings."""
    given = {
        "channels": list(task.channels),
        "rate_hz": task.rate_hz,
        "window": task.seconds,
        "kind": task.kind,
        "steps": steps or 0,
        "seed": task.seed,
    }
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"keras_dml.training.train(recordings, people, sessions, out=..., {words})"


def check_positive(name, value):
    """Refuses what is no positive number."""
    if not isinstance(value, numbers.Real) or not 0 < value < math.inf:
        raise ValueError(f"`{name}` must be a positive number. Received {name}={value!r}.")
