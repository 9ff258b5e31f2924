"""Steps by which the workers of Apache Beam prepare a data set.

Beam does not return the original errors of its workers, and it has no way to return small results.
The workers therefore write results and errors to files. The files with results and errors are in
the folder of the unfinished data set. The workers also write the examples into this folder.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator, Sequence

from etils import epath

from tfds_builders.common import errors
from tfds_builders.common.equal_keys import EQUAL_KEYS, is_of_equal_keys
from tfds_builders.common.errors import ArchiveError, FormatError, PipelineError
from tfds_builders.common.repeats import Contents, Repeats

try:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
except ImportError as error:
    raise ImportError(
        f"Preparing on Apache Beam needs the package apache-beam ({error}). Install it: "
        'pip install "keras-dml[beam]"'
    ) from error

# `runner=DirectRunner` is not used, because Beam would then download and run a program from GitHub.
ALL_PROCESSORS = "runner=FnApiRunner,direct_running_mode=multi_processing,direct_num_workers=0"
_CONTENTS = "contents"


def parse_options(text: str) -> PipelineOptions:
    """Parses options of Beam, in the same form as for `tfds build --beam_pipeline_options`.

    Args:
        text: Options such as `"runner=FlinkRunner,flink_master=localhost:8081"`.

    Raises:
        ValueError: If Beam refuses an option.
    """
    options = PipelineOptions([f"--{option}" for option in text.split(",")])
    output = io.StringIO()  # argparse in Beam prints all options before an error
    try:
        with contextlib.redirect_stderr(output):
            options.get_all_options()
    except SystemExit:
        refusal = output.getvalue().splitlines()[-1].partition("error: ")[2]
        raise ValueError(f"Apache Beam refuses the options {text!r}: {refusal}.") from None
    return options


class Jobs:
    """Pipeline steps that prepare one data set on Beam.

    Args:
        folder: Folder of the unfinished data set. All workers must be able to access the folder by
            the same path.
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
        """Context in which the caller runs the pipeline. After the pipeline, the context compares
        the contents of the recordings that the workers read, and reports repeated contents.

        Raises:
            ArchiveError, FormatError: If a worker raised one of these errors, or if two owners have
                the same content.
            PipelineError: If Beam fails for another reason.
        """
        try:
            yield
        except Exception as error:
            error_of_worker = self._error_of_worker()
            is_own = isinstance(error, ImportError | OSError | ValueError)
            if error_of_worker is None and is_own and not is_of_equal_keys(error):
                raise  # an error of this process: no archive, or an unknown runner
            raise error_of_worker or PipelineError(_summary(error)) from error
        for repeats, notes in self._compared:
            for of_recording in json.loads((notes / _CONTENTS).read_text()):
                for content, item, owner in of_recording:
                    repeats.add_digest(content, item, owner)
            repeats.report()
        self._notes.rmtree()

    def _error_of_worker(self) -> Exception | None:
        """Returns the error of the first recording for which a worker reported an error, or None if
        no worker reported an error.
        """
        files = sorted(self._notes.glob("*/*.json"), key=lambda path: path.name)
        if not files:
            return None
        kind, arguments = json.loads(files[0].read_text())
        return getattr(errors, kind)(*arguments)


class _Examples(beam.PTransform):
    """Beam transform that makes keys and examples, and writes digests of the recordings' contents
    to files.
    """

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
            description = type(error).__name__, error.__reduce__()[1]
            (self._notes / f"{number:08d}.json").write_text(json.dumps(description))
            raise
        yield beam.pvalue.TaggedOutput(_CONTENTS, (number, contents.added))


def _note_contents(numbered: list[tuple[int, list]], file: epath.Path) -> None:
    file.write_text(json.dumps([added for _, added in sorted(numbered)]))


def _summary(error: Exception) -> str:
    """Returns only the last line of Beam's error, because the whole text is a traceback of a
    worker.
    """
    if is_of_equal_keys(error):
        return f"Apache Beam failed: {EQUAL_KEYS}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"Apache Beam failed: {lines[-1] if lines else type(error).__name__}"
