"""Data set with the gaze of 322 people in seven tasks over 37 months (GazeBase, Griffith2021)."""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
from collections.abc import Collection, Iterator

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Plan, RecordingsBuilder, divided
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.repeats import Contents, Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.gazebase_gaze import archive
from tfds_builders.gazebase_gaze.blocks import block_means
from tfds_builders.parsers import gazebase

log = logging.getLogger("tfds_builders")

FRACTIONS = {
    "train": 0.8,
    "validation": 0.2,
}  # fractions of the people who have no round from LATE_ROUND on
LATE_ROUND = 6
SUBJECTS, VISITS = 322, 881
RECORDINGS = 2 * len(archive.TASKS)  # recordings of a visit, which has two sessions of seven tasks
RATES_HZ = (1000, 100)
DEVICE = "EyeLink 1000"


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the task and the sampling rate of the records.

    Attributes:
        task: A key of `archive.TASKS`, or None for all tasks.
        rate_hz: Samples per second, a divisor of 1000. If the rate is 1000, records have the
            samples of the file. If the rate is lower, each sample of a record is the mean over a
            block of samples.
    """

    task: str | None = None
    rate_hz: int = gazebase.RATE_HZ


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `gazebase_gaze`."""

    ABOUT = About(
        people=SUBJECTS,
        size=f"{VISITS * RECORDINGS:,} recordings, 6.7 GB",
        license="CC BY 4.0",
        archives=archive.WANTED,
    )
    HOMEPAGE = "https://doi.org/10.6084/m9.figshare.12912257"
    ON_BEAM = True
    BUILDER_CONFIGS = [
        Config(
            name=f"{(task or 'all').lower()}{rate_hz}",
            description=f"{archive.TASKS.get(task, 'all tasks').capitalize()}, {rate_hz} Hz.",
            task=task,
            rate_hz=rate_hz,
        )
        for task in (*archive.TASKS, None)
        for rate_hz in RATES_HZ
    ]

    def features(self) -> dict:
        def packed(shape, dtype):
            return tfds.features.Tensor(shape=shape, dtype=dtype, encoding="zlib")

        return {
            "sequence": packed((None, 3), np.float32),
            "time_ms": packed((None,), np.int32),
            "valid": packed((None,), np.uint8),
            "task": tfds.features.Text(),
            "round": np.int32,
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        visits = archive.visits_of(source)
        subjects = subjects_of(visits, source.title)
        divided_counts = {
            "visits": (len(visits), VISITS),
            "people": (sum(map(len, subjects.values())), SUBJECTS),
        }
        unpacked = [visit for visit in visits if not visit.members[0].endswith(".zip")]
        recordings = sum(len(visit.members) for visit in unpacked), len(unpacked) * RECORDINGS
        counts = divided_counts | (
            {"recordings of unpacked visits": recordings} if unpacked else {}
        )
        self.warn_of_part(source, "GazeBase", counts, divided=divided_counts)
        if "test" not in subjects:
            log.warning(
                "%s: nobody came to round %d or later, so the split `test` is left out.",
                self.name, LATE_ROUND,
            )  # fmt: skip
        return Plan(
            divided(visits, subjects),
            functools.partial(examples_of, source=source, config=self.builder_config),
            "visits",
            Repeats(source.title, "recordings", "kept"),
            subjects=subjects,
            metadata={
                "channels": ["x", "y", "pupil"],
                "rate_hz": self.builder_config.rate_hz,
            },
        )


def examples_of(
    visit: archive.Visit, repeats: Repeats | Contents, source: Source, config: Config
) -> Iterator[tuple[str, dict]]:
    """Yields the examples of a visit.

    Raises:
        ArchiveError: If the archive of the visit contains a recording of another visit, or if two
            people have the same recording.
        FormatError: If a recording cannot be read.
    """
    for recording in archive.recordings_of(source, visit, config.task):
        repeats.add(recording.content, recording.key, recording.subject)
        gaze = gazebase.parse(io.BytesIO(recording.content), name=recording.name)
        time_ms, sequence, valid = _resampled(gaze, config.rate_hz)
        yield (
            recording.key,
            {
                "sequence": sequence,
                "time_ms": time_ms,
                "valid": valid,
                "task": recording.task,
                "round": recording.round,
                **people.record(
                    recording.subject,
                    session=2 * (recording.round - 1) + recording.session - 1,
                    day=recording.round - 1,
                    device=DEVICE,
                ),
            },
        )


def _resampled(gaze: gazebase.Recording, rate_hz: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    signals = gaze.time_ms, gaze.sequence, gaze.valid
    if rate_hz == gazebase.RATE_HZ:
        return signals
    return block_means(*signals, step_ms=gazebase.RATE_HZ // rate_hz)


def subjects_of(visits: Collection[archive.Visit], title: str) -> dict[str, tuple[str, ...]]:
    """Divides people into splits.

    People who came to round `LATE_ROUND` or later are in `test`, because their recordings span the
    longest time.

    Args:
        visits: The visits.
        title: Name of the archive.

    Returns:
        Ids of the people in each split. The split `test` is missing if nobody came to round
        `LATE_ROUND` or later.

    Raises:
        ArchiveError: If too few people remain for `train` and `validation`.
    """
    late = sorted({visit.subject for visit in visits if visit.round >= LATE_ROUND})
    early = {visit.subject for visit in visits} - set(late)
    if len(early) < len(FRACTIONS):
        rounds = ", ".join(map(str, sorted({visit.round for visit in visits})))
        raise ArchiveError(
            f"{title} holds round {rounds}. {len(late)} people came to round {LATE_ROUND} or later "
            f"and are in `test`. {len(early)} people remain for `train` and `validation`, which "
            f"need at least {len(FRACTIONS)}. Add Round_1, which has all {SUBJECTS} people. "
            f"{archive.GET}"
        )
    splits = by_subject(early, FRACTIONS)
    return {**splits, "test": tuple(late)} if late else splits
