"""Fixations of people watching videos with several faces (Xu2018)."""

from __future__ import annotations

import logging

import numpy as np
import tensorflow_datasets as tfds

from tfds_builders.common import people
from tfds_builders.common.about import About
from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.checks import origins
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted, find
from tfds_builders.common.limits import Limits
from tfds_builders.common.parts import tell_part
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.source import Source
from tfds_builders.common.splits import by_subject_and_video
from tfds_builders.findwho_gaze import fixations

log = logging.getLogger("tfds_builders")

FRACTIONS = {"train": 0.5, "validation": 0.2, "test": 0.3}  # of the people and of the videos
SUBJECTS, VIDEOS = 39, 75
COLUMNS = ("start_ms", "duration_ms", "x", "y")
FILE = "video_database.mat"
_GET = (
    "Get Our_database/video_database.mat from https://github.com/yufanLIU/find, put it into a "
    "folder findwho_gaze in the manual folder (or the whole repository there, as find.zip or "
    "unpacked), and run `python -m tfds_builders.build findwho_gaze --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="findwho_gaze",
    stems=("find", "find-master", "Our_database"),
    loose=r"video_database\.mat",
    official="find.zip",
    get=_GET,
    # the videos lie beside the file, in the repository
    limits=Limits(members=5_000, member_bytes=1 << 30, total_bytes=16 << 30),
)


class Builder(AloneMixin, tfds.core.GeneratorBasedBuilder):
    """Builder of `findwho_gaze`."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES = {"1.0.0": "First release."}
    MANUAL_DOWNLOAD_INSTRUCTIONS = _GET
    ABOUT = About(
        people=SUBJECTS, size=f"{VIDEOS} videos", license="none is stated", archives=WANTED
    )
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(
            name="fixations", description="One list of fixations for each person and video."
        ),
    ]

    def _info(self):
        return self.dataset_info_from_configs(
            features=tfds.features.FeaturesDict(
                {
                    "id": tfds.features.Text(),
                    "fixations": tfds.features.Tensor(shape=(None, len(COLUMNS)), dtype=np.float32),
                    "video": tfds.features.Text(),
                    **people.features(),
                }
            ),
            homepage="https://github.com/yufanLIU/find",
            metadata=tfds.core.MetadataDict(),
        )

    def sources(self, manual_dir) -> dict[str, Source]:
        """Finds the archive, or the folder with the file.

        Raises:
            ArchiveError: When it is missing or cannot be opened.
        """
        return {"find": find(manual_dir, WANTED)}

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        (source,) = sources.values()
        lists = lists_of(source)
        try:
            splits = by_subject_and_video(lists, FRACTIONS)
        except ValueError as error:
            raise ArchiveError(f"{source.title}: {error} {_GET}") from None
        subjects, videos = ({*ids} for ids in zip(*lists, strict=True))
        held = {"people": (len(subjects), SUBJECTS), "videos": (len(videos), VIDEOS)}
        tell_part(self.info, source.title, "the official file", held, divided=held)
        log.warning(
            "%s: kept %d of %d lists; in the others, people of one split see a video of another.",
            source.title, sum(map(len, splits.values())), len(lists),
        )  # fmt: skip
        repeats = Repeats(source.title, "lists of fixations", "kept")
        self.info.metadata.update(
            **origins(self.name, sources),
            same_as=repeats.same_as,
            columns=list(COLUMNS),
            subjects={split: sorted({s for s, _ in keys}) for split, keys in splits.items()},
            videos={split: sorted({v for _, v in keys}) for split, keys in splits.items()},
        )
        return {
            split: self._generate_examples({key: lists[key] for key in keys}, repeats, split)
            for split, keys in splits.items()
        }

    def _generate_examples(self, lists, repeats, split):
        for (subject, video), rows in track(list(lists.items()), f"{self.name}, {split}"):
            key = f"{subject}/{video}"
            repeats.add(rows, key, f"subject {subject}")
            yield key, {"id": key, "fixations": rows, "video": video, **people.record(subject)}
        repeats.report()


def lists_of(source: Source) -> dict[tuple[str, str], np.ndarray]:
    """Returns the fixations by (subject, video), as text: `("1", "002")`.

    Raises:
        ArchiveError: When the file is not there, or there twice.
    """
    member = source.index(r"video_database\.mat").get(())
    if member is None:
        names = source.listed
        raise ArchiveError(f"{source.title} holds no {FILE}; it holds {names}. {_GET}")
    found = fixations.parse(source.open(member), name=member)
    if found.strays:
        log.warning(
            "%s: rows of fixations without a person: %d, left out.", source.title, found.strays
        )
    return {(str(subject), f"{video:03d}"): rows for (subject, video), rows in found.lists.items()}
