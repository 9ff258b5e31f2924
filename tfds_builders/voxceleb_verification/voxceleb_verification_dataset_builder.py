"""Data set with voices from interviews, and with trials that compare two voices (VoxCeleb,
Nagrani2017; Chung2018).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import audio, people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder, divided
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers.speakers import GENDERS, Speaker
from tfds_builders.parsers.trials import speaker_of
from tfds_builders.voxceleb_verification.lists import (
    SPEAKERS,
    TRIALS,
    WANTED,
    find_lists,
    read_speakers,
    read_trials,
)
from tfds_builders.voxceleb_verification.recordings import (
    ARCHIVES,
    Recording,
    find_archives,
    recordings_of,
    sessions_of,
)

log = logging.getLogger("tfds_builders")

RATE_HZ = 16_000
FRACTIONS = {"train": 0.95, "validation": 0.05}  # fractions of the speakers of `dev`
UTTERANCES = {"vox1": 153_516, "vox2": 1_128_246}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that selects the recordings of a corpus or a list of trials.

    Attributes:
        corpus: Corpus of the recordings, `"vox1"` or `"vox2"`. If `corpus` is `""`, the config
            reads a list of trials.
    """

    corpus: str = ""


class Voice(NamedTuple):
    """A recording, its speaker, and the number of its video among the videos of the speaker."""

    recording: Recording
    speaker: Speaker
    session: int

    @property
    def subject(self) -> str:
        return self.recording.speaker


class Trial(NamedTuple):
    """A trial with the ids of its two recordings."""

    id: str
    is_same: bool
    first: str
    second: str


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `voxceleb_verification`."""

    ABOUT = About(
        people=7363,
        size=f"{sum(UTTERANCES.values()):,} recordings",
        license="given out on request for research",
        archives={**ARCHIVES, **dict.fromkeys(TRIALS, WANTED)},
        besides=dict.fromkeys(ARCHIVES, WANTED),
    )
    HOMEPAGE = "https://www.robots.ox.ac.uk/~vgg/data/voxceleb/"
    ON_BEAM = True
    BUILDER_CONFIGS = [
        Config(name="vox1", description="Recordings of 1,251 speakers.", corpus="vox1"),
        Config(name="vox2", description="Recordings of 6,112 speakers.", corpus="vox2"),
        *(
            Config(name=name, description=f"{count:,} trials on VoxCeleb1 ({file}).")
            for name, (file, count) in TRIALS.items()
        ),
    ]

    @property
    def is_of_people(self) -> bool:
        return bool(self.builder_config.corpus)

    def features(self) -> dict:
        text = tfds.features.Text
        if not self.builder_config.corpus:
            return {"same": np.bool_, "first": text(), "second": text()}
        return {
            "audio": tfds.features.Tensor(shape=(None,), dtype=np.int16, encoding="bytes"),
            "rate": np.int32,
            "video": text(),
            "gender": tfds.features.ClassLabel(names=list(GENDERS.values())),
            "nationality": text(),
        }

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        """Finds the lists, and the archives of the recordings."""
        corpus = self.builder_config.corpus
        if not corpus:
            file, _ = TRIALS[self.builder_config.name]
            return {"lists": find_lists(manual_dir, file)}
        archives = find_archives(manual_dir, corpus)
        return {"lists": find_lists(manual_dir, SPEAKERS[corpus]), **archives}

    def plan(self, sources: dict[str, Source]) -> Plan:
        return self._voices(**sources) if self.builder_config.corpus else self._trials(**sources)

    def _trials(self, lists: Source) -> Plan:
        file, count = TRIALS[self.builder_config.name]
        trials = read_trials(lists, file)
        if len(trials.is_same) != count:
            log.warning(
                "%s: %s holds %d trials instead of %d, so it is not the official list.",
                lists.title, file, len(trials.is_same), count,
            )  # fmt: skip
        speakers = {speaker_of(utterance) for utterance in (*trials.first, *trials.second)}
        digits = len(str(count))
        columns = zip(trials.is_same, trials.first, trials.second, strict=True)
        items = [Trial(f"{i:0{digits}d}", *trial) for i, trial in enumerate(columns, start=1)]
        return Plan({"test": items}, trial_examples, "trials", subjects={"test": sorted(speakers)})

    def _voices(self, lists: Source, **archives: Source) -> Plan:
        corpus = self.builder_config.corpus
        speakers = read_speakers(lists, corpus)
        recordings = recordings_of(archives, speakers)
        heard = {recording.speaker for recording in recordings}
        counts = {
            "recordings": (len(recordings), UTTERANCES[corpus]),
            "speakers": (len(heard), len(speakers)),
        }
        titles = " and ".join(source.title for source in archives.values())
        self.warn_of_part(titles, f"VoxCeleb{corpus[-1]}", counts)
        subjects = {split: ids & heard for split, ids in split_speakers(speakers).items()}
        absent = [split for split, ids in subjects.items() if not ids]
        if absent:
            log.warning(
                "%s: no speaker of the splits %s, so these splits are left out.",
                self.name, " and ".join(absent),
            )  # fmt: skip
        subjects = {split: sorted(ids) for split, ids in subjects.items() if ids}
        sessions = sessions_of(recordings)
        voices = [
            Voice(
                recording,
                speakers[recording.speaker],
                sessions[recording.speaker, recording.video],
            )
            for recording in recordings
        ]
        return Plan(
            divided(voices, subjects),
            functools.partial(voice_examples, archives=archives),
            subjects=subjects,
            metadata={"rate_hz": RATE_HZ},
        )


def trial_examples(trial: Trial, _: object) -> Iterator[Example]:
    """Yields the example of a trial."""
    yield trial.id, {"same": trial.is_same, "first": trial.first, "second": trial.second}


def voice_examples(voice: Voice, _: object, archives: Mapping[str, Source]) -> Iterator[Example]:
    """Yields the example of a recording. The function does not search for equal recordings, because
    there are too many recordings.
    """
    recording, speaker, session = voice
    yield (
        recording.key,
        {
            "audio": audio.mono(archives[recording.archive], recording.member, RATE_HZ),
            "rate": RATE_HZ,
            "video": recording.video,
            "gender": speaker.gender,
            "nationality": speaker.nationality,
            **people.record(recording.speaker, session=session),
        },
    )


def split_speakers(speakers: Mapping[str, Speaker]) -> dict[str, set[str]]:
    """Divides the speakers of a table into splits.

    The official test speakers are in `test`. A twentieth of the other speakers is in `validation`.
    The function divides all speakers in the table, so that each speaker is in the same split even
    if the archive is incomplete.

    Raises:
        ValueError: If fewer than two speakers are outside `test`.
    """
    dev = [key for key, speaker in speakers.items() if speaker.part == "dev"]
    splits = {split: {*ids} for split, ids in by_subject(dev, FRACTIONS).items()}
    return {**splits, "test": {*speakers} - {*dev}}
