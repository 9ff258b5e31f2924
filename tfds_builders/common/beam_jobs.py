"""What the workers of Apache Beam do for a data set, and what they tell this process.

Beam gives back neither the errors of its workers as they were raised nor small results. Both go
through files beside the unfinished data set, where TFDS has the workers write the examples too.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Sequence

from etils import epath

from tfds_builders.common import errors
from tfds_builders.common.builder import EQUAL_KEYS, is_of_equal_keys
from tfds_builders.common.errors import ArchiveError, FormatError, PipelineError
from tfds_builders.common.repeats import Contents, Repeats

try:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError as error:
    raise ImportError(
        f'Preparing on Apache Beam needs it: pip install "keras-dml[beam]" ({error}).'
    ) from error

# By `runner=DirectRunner` Beam would first download a program from GitHub, and run that.
ALL_PROCESSORS = "runner=FnApiRunner,direct_running_mode=multi_processing,direct_num_workers=0"
_CONTENTS = "contents"


def parse_options(text: str) -> PipelineOptions:
    """Reads Beam's options as `tfds build --beam_pipeline_options` has them.

    Args:
        text: `"runner=FlinkRunner,flink_master=localhost:8081"`.

    Raises:
        ValueError: When Beam refuses one.
    """
    options = PipelineOptions([f"--{option}" for option in text.split(",")])
    said = io.StringIO()  # argparse, by which Beam reads them, prints all options before an error
    try:
        with contextlib.redirect_stderr(said):
            options.get_all_options()
    except SystemExit:
        refusal = said.getvalue().splitlines()[-1].partition("error: ")[2]
        raise ValueError(f"Apache Beam has no such options as {text!r}: {refusal}.") from None
    return options


class Jobs:
    """The work of one preparation on Beam.

    Args:
        folder: Where the data set is written; workers must reach it by the same path.
    """

    def __init__(self, folder: epath.Path):
        self._notes = folder / "notes_of_workers"
        self._compared: list[tuple[Repeats, epath.Path]] = []

    def examples(
        self, recordings: Sequence, examples_of, split: str, repeats: Repeats | None
    ) -> beam.PTransform:
        """Returns the transform that makes the examples of a split."""
        notes = self._notes / split
        notes.mkdir(parents=True)
        if repeats is not None:
            self._compared.append((repeats, notes))
        return _Examples(recordings, examples_of, notes)

    @contextlib.contextmanager
    def finished(self) -> Iterator[None]:
        """Runs the pipeline within; then compares the contents that its workers have met.

        Raises:
            ArchiveError, FormatError: As a worker raised it, or when contents are refused.
            PipelineError: When something else went wrong in Beam.
        """
        try:
            yield
        except Exception as error:
            told = self._told()
            is_own = isinstance(error, ImportError | OSError | ValueError)
            if told is None and is_own and not is_of_equal_keys(error):
                raise  # of this process: no archive, a runner that there is not
            raise told or PipelineError(_summary(error)) from error
        for repeats, notes in self._compared:
            for of_recording in json.loads((notes / _CONTENTS).read_text()):
                for content, item, owner in of_recording:
                    repeats.add_digest(content, item, owner)
            repeats.report()
        self._notes.rmtree()

    def _told(self) -> Exception | None:
        """The error of the first recording of which a worker has told one."""
        told = sorted(self._notes.glob("*/*.json"), key=lambda path: path.name)
        if not told:
            return None
        kind, arguments = json.loads(told[0].read_text())
        return getattr(errors, kind)(*arguments)


class _Examples(beam.PTransform):
    """Keys and examples of recordings; the contents that were met go to the notes."""

    def __init__(self, recordings: Sequence, examples_of, notes: epath.Path):
        super().__init__()
        self._recordings, self._examples_of, self._notes = recordings, examples_of, notes

    def expand(self, pipeline):
        made = (
            pipeline
            | beam.Create(list(enumerate(self._recordings)))
            | "Read"
            >> beam.ParDo(_Make(self._examples_of, self._notes)).with_outputs(
                _CONTENTS, main="examples"
            )
        )
        _ = (
            made[_CONTENTS]
            | beam.combiners.ToList()
            | "Note" >> beam.Map(_note_contents, self._notes / _CONTENTS)
        )
        return made.examples


class _Make(beam.DoFn):
    def __init__(self, examples_of, notes: epath.Path):
        self._examples_of, self._notes = examples_of, notes

    def process(self, numbered):
        number, recording = numbered
        contents = Contents()
        try:
            yield from self._examples_of(recording, contents)
        except (ArchiveError, FormatError) as error:
            told = type(error).__name__, error.__reduce__()[1]
            (self._notes / f"{number:08d}.json").write_text(json.dumps(told))
            raise
        yield beam.pvalue.TaggedOutput(_CONTENTS, (number, contents.added))


def _note_contents(numbered: list[tuple[int, list]], file: epath.Path) -> None:
    file.write_text(json.dumps([added for _, added in sorted(numbered)]))


def _summary(error: Exception) -> str:
    """The last line of what Beam says, which is a worker's traceback."""
    if is_of_equal_keys(error):
        return f"Apache Beam failed: {EQUAL_KEYS}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"Apache Beam failed: {lines[-1] if lines else type(error).__name__}"
