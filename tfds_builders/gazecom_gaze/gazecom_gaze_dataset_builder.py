"""Gaze of people watching natural movies, at 250 Hz (GazeCom, Dorr2010)."""

from __future__ import annotations

import dataclasses
import io
import re

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError, shown
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.common.splits import by_subject
from tfds_builders.gazecom_gaze.resampling import uniform
from tfds_builders.parsers import coord

FRACTIONS = {"train": 0.6, "validation": 0.15, "test": 0.25}
SUBJECTS, RECORDINGS = 54, 844
FOLDER = "natural_movies_gaze"
_NAME = re.compile(r"([A-Z\d]{3})_([a-z\d_]+)\.coord")
_GET = (
    "Get the archive of gaze data from https://www.inb.uni-luebeck.de/fileadmin/files/MITARBEITER/"
    "Dorr/EyeMovementDataSet.html, put it into the manual folder as gaze.zip (or the folder gaze, "
    "unpacked, or packed as gaze.tar.xz), and run "
    "`python -m tfds_builders.build gazecom_gaze --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="gazecom_gaze",
    stems=("gaze", FOLDER),
    loose=r"[A-Z\d]{3}_\w+\.coord",
    official="gaze.zip",
    get=_GET,
    limits=Limits(members=20_000, member_bytes=8 << 20, total_bytes=2 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """At which times a record has the gaze.

    Attributes:
        resampled: Whether it is at an even 250 Hz; else at the times of the file.
    """

    resampled: bool = False


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `gazecom_gaze`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=SUBJECTS, size=f"{RECORDINGS} recordings", license="none is stated", archives=WANTED
    )
    BUILDER_CONFIGS = [
        Config(name="natural_movies", description="The samples of the files."),
        Config(
            name="uniform",
            description="Resampled to an even 250 Hz, NaN where the eye was lost.",
            resampled=True,
        ),
    ]

    def _info(self):
        tensor = tfds.features.Tensor
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "sequence": tensor(shape=(None, 2), dtype=np.float32),
                    "time_us": tensor(shape=(None,), dtype=np.int64, encoding="bytes"),
                    "confidence": tensor(shape=(None,), dtype=np.uint8, encoding="bytes"),
                    "movie": tfds.features.Text(),
                    "width": np.int32,
                    "height": np.int32,
                    "distance_m": np.float32,
                    "screen_width_m": np.float32,
                    "screen_height_m": np.float32,
                    **people.features(),
                }
            ),
            homepage="https://doi.org/10.1167/10.10.28",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"gaze": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        recordings = recordings_of(source)
        subjects = by_subject((subject for subject, _ in recordings), FRACTIONS)
        held = {
            "recordings": (len(recordings), RECORDINGS),
            "people": (sum(map(len, subjects.values())), SUBJECTS),
        }
        tell_part(self.info, source.title, "GazeCom", held, divided=["people"])
        repeats = Repeats(source.title, "recordings", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            rate_hz=coord.RATE_HZ,
            movies=sorted({movie for _, movie in recordings}),
            subjects={split: list(ids) for split, ids in subjects.items()},
        )
        return {
            split: self._generate_examples(
                source, {key: name for key, name in recordings.items() if key[0] in ids},
                repeats, split,
            )
            for split, ids in subjects.items()
        }  # fmt: skip

    def _generate_examples(self, source, recordings, repeats, split):
        for (subject, movie), name in track(list(recordings.items()), f"{self.name}, {split}"):
            content = source.read(name)
            repeats.add(content, f"{subject}_{movie}", f"subject {subject}")
            recording = dataclasses.asdict(coord.parse(io.BytesIO(content), name=name))
            if self.builder_config.resampled:
                recording |= _resampled(recording)
            key = f"{subject}/{movie}"
            yield key, {"id": key, "movie": movie, **recording, **people.record(subject)}
        repeats.report()


def _resampled(recording: dict) -> dict:
    grid_us, sequence = uniform(*(recording[k] for k in ("time_us", "sequence", "confidence")))
    confidence = np.isfinite(sequence[:, 0]).astype(np.uint8)
    return {"time_us": grid_us, "sequence": sequence, "confidence": confidence}


def recordings_of(source: Source) -> dict[tuple[str, str], str]:
    """Returns the members of the natural movies by (subject, movie); the archive's other folders
    hold trailers, still images and repeated viewings, and are passed over.

    Raises:
        ArchiveError: When there are none, one of them has another name, or one is there twice.
    """
    found: dict[tuple[str, str], str] = {}
    for member in source.names:
        folder, _, name = member.rpartition("/")
        if not name.endswith(".coord") or folder.rpartition("/")[2] not in ("", FOLDER):
            continue
        match = _NAME.fullmatch(name)
        if match is None:
            raise ArchiveError(
                f"{source.title}: {shown(member)} is no recording of GazeCom, which are named "
                "<SUBJECT>_<movie>.coord with three characters a subject. Take it away."
            )
        if found.setdefault(match.groups(), member) is not member:
            raise ArchiveError(
                f"{source.title} holds the same recording twice: {found[match.groups()]} and "
                f"{member}. Keep one of the two folders."
            )
    if not found:
        names = source.listed
        raise ArchiveError(
            f"{source.title} holds no {FOLDER}/<SUBJECT>_<movie>.coord; it holds {names}. {_GET}"
        )
    return found
