"""Data sets prepared recording by recording: in this process, or by the workers of Apache Beam."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tfds_builders.common.builder import AloneMixin
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Contents, Repeats

T = TypeVar("T")
ExamplesOf = Callable[[T, Repeats | Contents], Iterator[tuple[str, dict]]]


class RecordingsMixin(AloneMixin):
    """For builders that make the examples of each recording by itself; before TFDS's builder class.

    `_split_generators` lists the recordings of each split and gives them to `_generate_examples`.
    Where TFDS's `DownloadConfig` has `beam_options` or a `beam_runner`, the recordings are read by
    Beam's workers, with the same examples in the same order; else Beam is not imported.
    """

    _jobs = None  # what Beam's workers do, while a data set is prepared on it

    def _download_and_prepare(self, dl_manager, download_config) -> None:
        if not (download_config.beam_options or download_config.beam_runner):
            super()._download_and_prepare(dl_manager, download_config)
            return
        from tfds_builders.common import beam_jobs  # needs Beam, and two seconds

        self._jobs = beam_jobs.Jobs(self.data_path)
        try:
            with self._jobs.finished():
                super()._download_and_prepare(dl_manager, download_config)
        finally:
            self._jobs = None

    def _generate_examples(
        self,
        recordings: Sequence[T],
        examples_of: ExamplesOf,
        split: str,
        things: str,
        repeats: Repeats | None = None,
    ):
        """Makes the examples of a split.

        Args:
            recordings: What `examples_of` takes, one by one.
            examples_of: Keys and examples of a recording, given it and what to `add` its content
                to. A function of a module, with `functools.partial` about it: workers get it by
                pickle, and open its sources anew.
            split: Name of the split.
            things: Word for the recordings, in the plural.
            repeats: Contents of the recordings of all splits, where they are compared.
        """
        if self._jobs is not None:
            return self._jobs.examples(recordings, examples_of, split, repeats)
        return self._one_by_one(recordings, examples_of, f"{self.name}, {split}, {things}", repeats)

    def _one_by_one(self, recordings, examples_of, what, repeats):
        for recording in track(recordings, what):
            yield from examples_of(recording, repeats)
        if repeats is not None:
            repeats.report()
