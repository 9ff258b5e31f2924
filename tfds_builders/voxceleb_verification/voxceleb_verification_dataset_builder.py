"""Voices from interviews, and trials that compare them (VoxCeleb, Nagrani2017; Chung2018)."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import audio, people
from tfds_builders.common.about import About
from tfds_builders.common.checks import origins
from tfds_builders.common.parts import tell_part
from tfds_builders.common.recordings import RecordingsMixin
from tfds_builders.common.source import Source
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers.speakers import GENDERS, Speaker
from tfds_builders.parsers.trials import speaker_of
from tfds_builders.voxceleb_verification.lists import (
    GET,
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

T = TypeVar("T")
log = logging.getLogger("tfds_builders")

RATE_HZ = 16_000
FRACTIONS = {"train": 0.95, "validation": 0.05}  # of the speakers of `dev`
UTTERANCES = {"vox1": 153_516, "vox2": 1_128_246}


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """The recordings of a corpus, or a list of trials.

    Attributes:
        corpus: `"vox1"` or `"vox2"`; "" for a list of trials.
    """

    corpus: str = ""


class Voice(NamedTuple):
    """A recording, who speaks, and which of the speaker's videos it is from."""

    recording: Recording
    speaker: Speaker
    session: int


class Trial(NamedTuple):
    """A trial, by the ids of its recordings."""

    id: str
    same: bool
    first: str
    second: str


class Builder(RecordingsMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `voxceleb_verification`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = GET
    ABOUT = About(
        people=7363,
        size=f"{sum(UTTERANCES.values()):,} recordings",
        license="given out on request for research",
        archives={**ARCHIVES, **dict.fromkeys(TRIALS, WANTED)},
        besides=dict.fromkeys(ARCHIVES, WANTED),
    )
    BUILDER_CONFIGS = [
        Config(name="vox1", description="Recordings of 1,251 speakers.", corpus="vox1"),
        Config(name="vox2", description="Recordings of 6,112 speakers.", corpus="vox2"),
        *(
            Config(name=name, description=f"{count:,} trials on VoxCeleb1 ({file}).")
            for name, (file, count) in TRIALS.items()
        ),
    ]

    def _info(self):
        if self.builder_config.corpus:
            content = {
                "audio": tfds.features.Tensor(shape=(None,), dtype=np.int16, encoding="bytes"),
                "rate": np.int32,
                "video": tfds.features.Text(),
                "gender": tfds.features.ClassLabel(names=list(GENDERS.values())),
                "nationality": tfds.features.Text(),
                **people.features(),
            }
        else:
            content = {
                "same": np.bool_,
                "first": tfds.features.Text(),
                "second": tfds.features.Text(),
            }
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict({"id": tfds.features.Text(), **content}),
            homepage="https://www.robots.ox.ac.uk/~vgg/data/voxceleb/",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the lists, and the archives of the recordings.

        Raises:
            ArchiveError: When one is missing or cannot be opened.
        """
        corpus = self.builder_config.corpus
        if not corpus:
            file, _ = TRIALS[self.builder_config.name]
            return {"lists": find_lists(manual_dir, file)}
        archives = find_archives(manual_dir, corpus)
        return {"lists": find_lists(manual_dir, SPEAKERS[corpus]), **archives}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        self.info.metadata.update(**origins(self.name, sources))
        if not self.builder_config.corpus:
            return {"test": self._trials(**sources)}
        return self._voices(**sources)

    def _trials(self, lists: Source):
        file, count = TRIALS[self.builder_config.name]
        trials = read_trials(lists, file)
        if len(trials.same) != count:
            log.warning(
                "%s: %s holds %d of %d trials: another list than the official one.",
                lists.title, file, len(trials.same), count,
            )  # fmt: skip
        heard = {speaker_of(utterance) for utterance in (*trials.first, *trials.second)}
        self.info.metadata.update(subjects={"test": sorted(heard)})
        digits = len(str(count))
        items = [
            Trial(f"{number:0{digits}d}", *trial)
            for number, trial in enumerate(
                zip(trials.same, trials.first, trials.second, strict=True), start=1
            )
        ]
        make = functools.partial(by_id, record_of=Trial._asdict)
        return self._generate_examples(items, make, "test", "trials")

    def _voices(self, lists: Source, **archives: Source):
        corpus = self.builder_config.corpus
        speakers = read_speakers(lists, corpus)
        recordings = recordings_of(archives, speakers)
        heard = {recording.speaker for recording in recordings}
        held = {
            "recordings": (len(recordings), UTTERANCES[corpus]),
            "speakers": (len(heard), len(speakers)),
        }
        titles = " and ".join(source.title for source in archives.values())
        tell_part(self.info, titles, f"VoxCeleb{corpus[-1]}", held)
        parts = {split: ids & heard for split, ids in split_speakers(speakers).items()}
        absent = [split for split, ids in parts.items() if not ids]
        if absent:
            log.warning("%s: nobody of %s: left out.", self.name, " and ".join(absent))
        self.info.metadata.update(
            rate_hz=RATE_HZ,
            subjects={split: sorted(ids) for split, ids in parts.items() if ids},
        )
        sessions = sessions_of(recordings)
        voices = [
            Voice(
                recording,
                speakers[recording.speaker],
                sessions[recording.speaker, recording.video],
            )
            for recording in recordings
        ]
        make = functools.partial(by_id, record_of=functools.partial(features_of, archives=archives))
        return {
            split: self._generate_examples(
                [voice for voice in voices if voice.recording.speaker in ids],
                make,
                split,
                "recordings",
            )
            for split, ids in parts.items()
            if ids
        }


def split_speakers(speakers: Mapping[str, Speaker]) -> dict[str, set[str]]:
    """Divides the speakers of a table: those of `test` stay, a twentieth of the others validates.

    It is the whole table that is divided, so that a part of the recordings has the same splits.

    Raises:
        ValueError: When fewer than two speakers are not of `test`.
    """
    dev = [key for key, speaker in speakers.items() if speaker.part == "dev"]
    splits = {split: {*ids} for split, ids in by_subject(dev, FRACTIONS).items()}
    return {**splits, "test": {*speakers} - {*dev}}


def by_id(item: T, repeats: None, record_of: Callable[[T], dict]) -> Iterator[tuple[str, dict]]:
    """Gives the record of an item by its id; recordings are too many to look for repeats."""
    record = record_of(item)
    yield record["id"], record


def features_of(voice: Voice, archives: Mapping[str, Source]) -> dict[str, object]:
    """Returns the features of a recording.

    Raises:
        FormatError: When it cannot be read, or has another rate.
    """
    recording, speaker, session = voice
    return {
        "id": recording.key,
        "audio": audio.mono(archives[recording.archive], recording.member, RATE_HZ),
        "rate": RATE_HZ,
        "video": recording.video,
        "gender": speaker.gender,
        "nationality": speaker.nationality,
        **people.record(recording.speaker, session=session),
    }
