"""Base class of the builders, and classes with which a builder describes its data set."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import os
import pathlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import tensorflow_datasets as tfds
from tensorflow_datasets.core.features.feature import Documentation

from tfds_builders.common import code, people
from tfds_builders.common.archive import Source
from tfds_builders.common.checks import origins
from tfds_builders.common.equal_keys import EQUAL_KEYS, is_of_equal_keys
from tfds_builders.common.errors import MissingArchiveError
from tfds_builders.common.find import Wanted, find, find_config
from tfds_builders.common.license import License
from tfds_builders.common.lock import writing
from tfds_builders.common.page import ID, Page
from tfds_builders.common.parts import warn_of_part
from tfds_builders.common.places import is_address
from tfds_builders.common.processes import in_processes
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Contents, Repeats

T = TypeVar("T")
Example = tuple[str, dict[str, Any]]  # key and features
Read = Callable[[T, "Repeats | Contents | None"], Iterator[Example]]

ARRAY_RECORD = "array_record"
CODE = "code"  # key of the metadata: digest of the code that made the data set
_NO_FOLDER = "Manual directory"  # in TFDS's error for a manual folder that is missing or empty


@dataclasses.dataclass(frozen=True)
class About:
    """Facts about a data set that are known without its archive.

    Attributes:
        people: Number of people in the data set, or 0 if the source does not state the number or
            the records do not come from people.
        size: Text that states the number of recordings, and the size of the archive if the source
            gives this size.
        license: License, in the same words as in the README of the data set.
        archives: The archive that all configs need, or a mapping from the name of each config to
            the archive that the config needs. If a config accepts several archives, the value is a
            tuple, and one archive of the tuple is enough.
        besides: Mapping from the name of a config to a second archive that the config also needs.
    """

    people: int
    size: str
    license: str
    archives: Wanted | Mapping[str, Wanted | tuple[Wanted, ...]]
    besides: Mapping[str, Wanted] = dataclasses.field(default_factory=dict)

    def needs(self, config: str) -> list[tuple[Wanted, ...]]:
        """Returns the archives that a config needs, as a list of tuples. One archive from each
        tuple is enough.
        """
        archive = self.archives if isinstance(self.archives, Wanted) else self.archives[config]
        needed = [archive, self.besides[config]] if config in self.besides else [archive]
        return [(each,) if isinstance(each, Wanted) else each for each in needed]


class OfSubject(Protocol):
    """Protocol of recordings that have an attribute `subject`, the id of the person."""

    @property
    def subject(self) -> str: ...


S = TypeVar("S", bound=OfSubject)


@dataclasses.dataclass(frozen=True)
class Plan(Generic[T]):
    """Recordings of each split, and the function that makes examples from a recording.

    Attributes:
        splits: Recordings of each split. A recording may be any object that `read` accepts.
        read: Function whose arguments are a recording and the contents of all recordings that were
            read before this recording. The function yields the key and the features of each
            example. The builder adds the key as the feature `id`. Other processes receive `read` by
            pickle. `read` must therefore be a module-level function, a `functools.partial` of a
            module-level function, or an instance of a module-level class.
        things: Noun in the plural that names the recordings in the progress line.
        repeats: Object that compares the contents of recordings in all splits. The builder stores
            the repeated recordings in the metadata, under `same_as`. If None, recordings are not
            compared.
        subjects: Ids of the people in each split. The builder also stores the ids in the metadata.
        metadata: Further metadata of the data set.
        is_independent: Whether several processes can run `read` at the same time.
    """

    splits: Mapping[str, Sequence[T]]
    read: Read[T]
    things: str = "recordings"
    repeats: Repeats | None = None
    subjects: Mapping[str, Iterable[str]] | None = None
    metadata: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_independent: bool = True


def divided(recordings: Iterable[S], subjects: Mapping[str, Iterable[str]]) -> dict[str, list[S]]:
    """Returns the recordings of each split, in their given order.

    Args:
        recordings: Recordings with an attribute `subject`, the id of the person.
        subjects: Ids of the people in each split.
    """
    recordings, people_of = list(recordings), {split: {*ids} for split, ids in subjects.items()}
    return {
        split: [recording for recording in recordings if recording.subject in ids]
        for split, ids in people_of.items()
    }


class RecordingsBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Base class of builders that make a data set from recordings.

    A subclass declares the class attributes below and writes two methods: `features` and `plan`.
    The base class finds the archive, stores its checksum, and takes the license and the
    descriptions of the features from the README of the data set. The base class reads the
    recordings in this process, in several processes or on Apache Beam. Only one process at a time
    prepares a data set. A second process waits, and then uses the files that the first process
    wrote. If a run is killed, the next run removes the unfinished files of the killed run.

    Attributes:
        ABOUT: Facts about the data set. The base class sets `MANUAL_DOWNLOAD_INSTRUCTIONS` to the
            text `Wanted.get` of the first archive that the config needs.
        HOMEPAGE: Address of the source.
        ARCHIVE_KEY: Key of the archive in the metadata. By default, the key is the name of the
            config.
        SUPERVISED_KEYS: Names of the input feature and the target feature for
            `tfds.load(as_supervised=True)`. Configs without these two features ignore the names.
        ON_BEAM: Whether users may prepare the data set on Apache Beam, which is useful only for
            large data sets.
        jobs: Number of processes that read recordings.
    """

    VERSION: ClassVar = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First release."}
    ABOUT: ClassVar[About]
    HOMEPAGE: ClassVar[str] = ""
    ARCHIVE_KEY: ClassVar[str | None] = "recordings"
    SUPERVISED_KEYS: ClassVar[tuple[str, str] | None] = None
    ON_BEAM: ClassVar[bool] = False
    jobs: int = 1
    _beam_jobs = None  # the steps on Beam while a data set is prepared on Beam

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        config = self.builder_config and self.builder_config.name
        get = self.MANUAL_DOWNLOAD_INSTRUCTIONS or self.ABOUT.needs(config)[0][0].get
        if config is not None:  # the command prepares this config, not the first one
            get = get.replace(f"build {self.name} ", f"build {self.name}/{config} ")
        self.MANUAL_DOWNLOAD_INSTRUCTIONS = get

    # methods that a subclass defines

    def features(self) -> dict[str, Any]:
        """Returns the features of a record. The base class adds `id` and the features of
        `common.people`.
        """
        raise NotImplementedError

    def plan(self, sources: dict[str, Source]) -> Plan:
        """Lists the recordings and divides them into splits.

        Args:
            sources: The opened archives, as `sources` returns them.

        Raises:
            ArchiveError: If an archive lacks files that the data set needs.
        """
        raise NotImplementedError

    # methods that a subclass may override

    @property
    def is_of_people(self) -> bool:
        """True if each record has the features of `common.people`."""
        return self.ABOUT.people > 0

    def sources(self, manual_dir: str | os.PathLike) -> dict[str, Source]:
        """Finds and opens the archives that the config needs.

        Args:
            manual_dir: The folder with the archives.

        Returns:
            Dictionary from the key of each archive in the metadata to the opened archive.

        Raises:
            ArchiveError: If an archive is missing or cannot be opened.
        """
        archives, config = self.ABOUT.archives, self.builder_config and self.builder_config.name
        if isinstance(archives, Wanted):
            return {self.ARCHIVE_KEY or config: find(manual_dir, archives)}
        return {self.ARCHIVE_KEY or config: find_config(manual_dir, archives, config)}

    # methods that are the same for all builders

    def warn_of_part(
        self,
        source: Source | str,
        whole: str,
        counts: Mapping[str, tuple[int, int]],
        divided: Collection[str] = (),
    ) -> None:
        """Logs a warning if an archive is only a part of the official archive. See
        `parts.warn_of_part`.
        """
        title = source if isinstance(source, str) else source.title
        warn_of_part(self.info, title, whole, counts, divided)

    @functools.cached_property
    def page(self) -> Page | None:
        """Content of the README of the data set, or None if the file does not exist."""
        path = pathlib.Path(self._get_pkg_dir_path()) / "README.md"
        if not path.is_file():
            return None
        return Page(path.read_text("utf-8"), title=f"{self.name}/README.md")

    @functools.cached_property
    def license(self) -> License | None:
        """License and terms as the README states them, or None if the README does not exist."""
        return self.page and License.of_terms(self.page.paragraph("License"), self.HOMEPAGE)

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict(
            {
                "id": tfds.features.Text(),
                **self.features(),
                **(people.features() if self.is_of_people else {}),
            }
        )
        if self.page is not None:
            for key, feature in features.items():
                text = ID if key == "id" else self.page.feature(key)
                feature._set_doc(Documentation(desc=text))
        return self.dataset_info_from_configs(
            features=features,
            supervised_keys=self._supervised_keys(features),
            homepage=self.HOMEPAGE,
            license=self.license and str(self.license),
            metadata=tfds.core.MetadataDict(),
        )

    def _supervised_keys(self, features: Mapping[str, Any]) -> tuple[str, str] | None:
        keys = self.SUPERVISED_KEYS
        return keys if keys and {*keys} <= {*features.keys()} else None

    def _split_generators(self, dl_manager):
        sources = self.sources(dl_manager.manual_dir)
        plan = self.plan(sources)
        self.info.metadata.update(**origins(self.name, sources), **plan.metadata)
        if plan.repeats is not None:
            self.info.metadata["same_as"] = plan.repeats.same_as
        if plan.subjects is not None:
            self.info.metadata["subjects"] = {s: [*ids] for s, ids in plan.subjects.items()}
        return {split: self._generate_examples(plan, split) for split in plan.splits}

    def _generate_examples(self, plan: Plan, split: str):
        """Returns the examples of a split, or, on Apache Beam, the transform that makes the
        examples.
        """
        read = functools.partial(_with_id, read=plan.read)
        recordings, repeats = plan.splits[split], plan.repeats
        if self._beam_jobs is not None:
            return self._beam_jobs.examples(recordings, read, split, repeats)
        progress = functools.partial(
            track, description=f"{self.name}, {split}, {plan.things}", total=len(recordings)
        )
        if self.jobs > 1 and plan.is_independent:
            return in_processes(recordings, read, repeats, self.jobs, progress)
        return _one_by_one(progress(recordings), read, repeats)

    def download_and_prepare(self, *, file_format=None, **kwargs) -> None:
        """Prepares the data set. See `tfds.core.DatasetBuilder.download_and_prepare`."""
        path = os.fspath(self.data_path)
        format_name = file_format or self.info.file_format
        if is_address(path) and getattr(format_name, "value", format_name) == ARRAY_RECORD:
            raise ValueError(
                f"{path} is a remote address. Files of the format {ARRAY_RECORD} can be written "
                "only to folders of this machine. Prepare the data set in a folder, then copy it."
            )
        needs_no_lock = self.data_path.exists() or is_address(path)  # remote storage has no locks
        with (
            contextlib.nullcontext()
            if needs_no_lock
            else writing(pathlib.Path(path), f"prepares {self.info.full_name}")
        ):
            if self.data_path.exists() and not self.info.initialized:
                # TFDS must read the files in the format in which they were written.
                self.info.set_file_format(file_format, override=True)
                self.info.read_from_directory(self.data_path)
            try:
                super().download_and_prepare(file_format=file_format, **kwargs)
            except (AssertionError, MissingArchiveError) as error:
                is_missing = isinstance(error, MissingArchiveError) or _NO_FOLDER in str(error)
                hint = prepared_elsewhere(self) if is_missing else ""
                if not hint:
                    raise
                raise MissingArchiveError(f"{hint}{error}") from None
            except ModuleNotFoundError as error:
                if not is_of_equal_keys(error):
                    raise
                raise ValueError(f"{self.info.full_name}: {EQUAL_KEYS}") from error

    def _download_and_prepare(self, dl_manager, download_config) -> None:
        if self.ON_BEAM and (download_config.beam_options or download_config.beam_runner):
            beam_jobs = importlib.import_module("tfds_builders.common.beam_jobs")  # slow to import
            self._beam_jobs = beam_jobs.Jobs(self.data_path)
            try:
                with self._beam_jobs.finished():
                    super()._download_and_prepare(dl_manager, download_config)
            finally:
                self._beam_jobs = None
        else:
            super()._download_and_prepare(dl_manager, download_config)
        self.info.metadata[CODE] = code.digest(type(self))

    def _log_download_bytes(self) -> None:
        print(
            f"Preparing {self.info.full_name} in {self.data_path}, from the archive that you "
            "downloaded...",
            flush=True,
        )

    def _log_download_done(self) -> None:
        print(f"{self.info.full_name} is prepared.", flush=True)


def _with_id(recording: T, contents: Repeats | Contents | None, read: Read[T]) -> Iterator[Example]:
    for key, example in read(recording, contents):
        yield key, {"id": key, **example}


def _one_by_one(
    recordings: Iterable[T], read: Read[T], repeats: Repeats | None
) -> Iterator[Example]:
    for recording in recordings:
        yield from read(recording, repeats)
    if repeats is not None:
        repeats.report()


def prepared_elsewhere(builder: tfds.core.DatasetBuilder) -> str:
    """Returns a text that lists the prepared configs and formats of the same data set.

    The text ends with a space, or is empty if no config is prepared.
    """
    root = pathlib.Path(builder.data_dir_root)
    roots = {root: "load", root / ARRAY_RECORD: "data_source"}
    if root.name == ARRAY_RECORD:
        roots = {root: "data_source", root.parent: "load"}
    calls = []
    for folder, function in roots.items():
        for file in sorted((folder / builder.name).glob("**/dataset_info.json")):
            name = file.parent.parent.relative_to(folder).as_posix()
            calls.append(f"tfds.{function}({name!r}, data_dir={str(folder)!r})")
    if not calls:
        return ""
    return f"{builder.info.full_name} is not prepared. You can load: {'; '.join(calls)}. Or: "
