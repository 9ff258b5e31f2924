"""Measures the exported files of the zoo on all targets, and writes the table export/targets.md.

A cell of the table is a model on a target. Each step of a cell runs in a separate process: `export`
writes the file, `agreement` runs it on real recordings and compares it with Keras, and
`milliseconds` measures the time of one embedding. The result of a cell is a JSON file, so an
interrupted run continues with the missing steps. `--again milliseconds` repeats the last step of
all cells, for example on a quiet machine.

The recordings are needed. The docstring of zoo/recordings.py says where they are stored. The script
skips a model whose recordings are not available, and the page lists the models without figures. The
browser targets need Chromium and npm, and TensorFlow Lite Micro needs the package `tflite-micro`.

Example: python export/targets.py gait_lda --targets litert c
"""

import dataclasses
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = pathlib.Path(__file__).with_name("targets.md")
STEPS = ("export", "agreement", "milliseconds")
MOST = 60  # recordings of a model
TITLES = {
    "litert": "LiteRT",
    "litert-js": "LiteRT.js",
    "onnx": "ONNX Runtime",
    "onnx-web": "onnxruntime-web",
    "tflite-micro": "TFLite Micro",
    "c": "C library",
    "saved-model": "SavedModel",
}
REFUSED = "refused"


class Cell:
    """Results of a model on a target, which are kept in a JSON file.

    Args:
        out: Folder of all results.
        model: Name of the model.
        target: Key of `TITLES`.

    Attributes:
        results: Dict from the names of completed steps to their results.
    """

    def __init__(self, out: pathlib.Path, model: str, target: str):
        self.model, self.target, self.folder = model, target, out / model
        self._path = self.folder / f"{target}.json"
        self.results = json.loads(self._path.read_text()) if self._path.is_file() else {}

    def missing(self) -> list[str]:
        """Returns the steps that are to be done, in their order. After a refusal, no step is to be
        done."""
        return [] if self.refusal() else [step for step in STEPS if step not in self.results]

    def refusal(self) -> str | None:
        """Returns the reason why the target does not run the model, or None."""
        return next((row[REFUSED] for row in self.results.values() if REFUSED in row), None)

    def add(self, step: str, result: dict) -> None:
        """Stores the result of a step."""
        from keras_dml._files import write_text

        self.results[step] = result
        write_text(self._path, json.dumps(self.results, indent=1))

    def forget(self, step: str) -> None:
        """Removes the results of a step and of the following steps."""
        for later in STEPS[STEPS.index(step) :]:
            self.results.pop(later, None)
        self._path.unlink(missing_ok=True)
        for done, result in list(self.results.items()):
            self.add(done, result)


def main(arguments: list[str] | None = None) -> None:
    """Runs the script.

    Args:
        arguments: Command-line arguments. Default: the arguments of the process.
    """
    # makes `zoo`, `tfds_builders` and this folder importable if this file runs as a script
    sys.path.insert(0, str(ROOT))
    from export.arguments import parser

    command = parser(__doc__, has_cards=False)
    command.set_defaults(out=pathlib.Path("build", "targets"))
    command.add_argument(
        "--targets", nargs="+", choices=TITLES, default=list(TITLES), help="default: all targets"
    )
    command.add_argument(
        "--recordings",
        type=int,
        default=MOST,
        help="largest number of recordings of a model (default: %(default)s)",
    )
    command.add_argument("--again", choices=STEPS, help="repeat this step and the following steps")
    command.add_argument(
        "--npm-packages",
        type=pathlib.Path,
        help="folder in which npm installed @litertjs/core and onnxruntime-web (default: npm "
        "downloads them)",
    )
    command.add_argument(
        "--page", type=pathlib.Path, default=PAGE, help="page to write (default: %(default)s)"
    )
    options = command.parse_args(arguments)

    from keras_dml import progress, zoo

    names = options.models or zoo.list_models()
    unknown = sorted({*names} - {*zoo.list_models()})
    if unknown:
        command.error(f"unknown models: {', '.join(unknown)}. `keras-dml list` lists the models.")
    missing = find_missing_programs(options.targets)
    if missing:
        command.error(f"{', '.join(missing)} not found. Install them, or select --targets.")
    out = options.out.resolve()
    if {"litert-js", "onnx-web"} & {*options.targets}:
        from export import runtimes

        runtimes.write_page(out, options.npm_packages)
    for name in names:
        discard_other_recordings(out / name, options.recordings)
    cells = {
        (name, target): Cell(out, name, target) for name in names for target in options.targets
    }
    for cell in cells.values() if options.again else ():
        cell.forget(options.again)
    steps = [  # the files of a model are made in one process
        (step, name, targets)
        for step in STEPS
        for name in names
        for targets in ([options.targets] if step == "export" else [[t] for t in options.targets])
    ]
    for step, name, targets in progress.track(steps, "measure"):
        selected = [cells[name, target] for target in targets]
        # a model that was skipped has no files for the next steps
        unfinished = [cell for cell in selected if cell.missing()[:1] == [step]]
        if unfinished:
            run(step, unfinished, options.recordings)
    all_cells = [Cell(out, name, target) for name in zoo.list_models() for target in TITLES]
    text = format_page(all_cells)
    options.page.write_text(text, encoding="utf-8")
    print(text)


def find_missing_programs(targets: list[str]) -> list[str]:
    """Returns the names of packages and programs that targets need and that are not installed."""
    from export.runtimes import RUNTIMES

    needed = [name for target in targets for name in RUNTIMES[target].missing()]
    return list(dict.fromkeys(needed))


def discard_other_recordings(folder: pathlib.Path, most: int) -> None:
    """Removes the results of a model that were measured with another number of recordings."""
    from export import cells

    if (folder / cells.ABOUT).is_file() and cells.read_about(folder)["most"] != most:
        shutil.rmtree(folder)


def run(step: str, unfinished: list[Cell], most: int) -> None:
    """Runs one step in a separate process, and stores its results.

    If the recordings of the model are not available, the function stores nothing and prints a note
    to stderr.

    Args:
        step: An entry of `STEPS`.
        unfinished: Cells of one model. For other steps than `"export"`, one cell.
        most: Largest number of recordings.

    Raises:
        RuntimeError: If the step `"export"` fails for another reason.
    """
    from export import agreement, cells

    first, targets = unfinished[0], [cell.target for cell in unfinished]
    folder = first.folder
    arguments = [first.model, str(most), *targets] if step == "export" else targets
    command = [sys.executable, "-m", "export.cells", step, str(folder), *arguments]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
        reason = lines[-1]
        if step == "export":
            raise RuntimeError(f"{first.model} cannot be exported: {reason}")
        first.add(step, {REFUSED: reason})
        return
    result = json.loads(done.stdout.splitlines()[-1])
    if cells.MISSING_DATA in result:
        print(f"{first.model} is skipped: {result[cells.MISSING_DATA]}", file=sys.stderr)
        return
    if step == "export":
        for cell in unfinished:
            cell.add(step, result[cell.target])
        return
    (cell,) = unfinished
    if step == "agreement":
        reference = cells.read_reference(folder, cell.target)
        compared = agreement.compare(cells.read_outputs(folder, cell.target), reference)
        result |= dataclasses.asdict(compared) | cells.read_about(folder)
    cell.add(step, result)


TEXT = """# The zoo on all targets

`python export/targets.py` wrote this page. Each table has one row per model and one column per
program that runs its exported file. Weights are float32. TFLite Micro, and C libraries of models
with convolutions, have int8 weights.

- Machine: {machine}. Every program runs on one thread.
- Programs: {versions}.
- Recordings: at most {most} recordings per model, of the test people of its card, or of the
  training people if the card has no test people. Recordings of sound are cut to 3 s.
- *refuses*: The export refuses the model. *fails*: The program fails to run the exported file. The
  number in brackets is the number of the reason in the last section. An empty cell was not
  measured.
- Models without figures: {without}.
  A model has no figures if its recordings were not available or if it was not measured.

## Size of the file, KB

The size does not include the program, such as 9.4 MB of WebAssembly for LiteRT.js. The files of
LiteRT.js have a fixed number of time steps. The folder of an ONNX model contains one file per
signature. For TFLite Micro, the size is the size of the file of the convolutions. For the C
library, it is the size of the tables.

{size}

## Time of one embedding, milliseconds

The smallest of four medians of 21 calls, for the longest of the recordings, or for an image. In a
browser, each of the 21 values is the mean of several calls, because the clock has steps of 0.1 ms.
*steps* is the number of time steps of the recording. TFLite Micro computes only the convolutions.

{ms}

## Peak memory, MB

The peak memory (VmHWM) of a process that loads the file and embeds all recordings, one after the
other. For programs in a browser, it is the peak memory of the renderer process. Nothing is
subtracted. The first row contains the smallest peak before a file is loaded, with Python, NumPy and
the imported program, or with an empty page. On a microcontroller, the C library and TFLite Micro
need only the buffers that [the page about exports](README.md#microcontrollers) lists.

{memory}

## Drift of the embeddings, %

The root mean square (RMS) difference between the embeddings of the file and the embeddings by
Keras, divided by the RMS of Keras's embeddings. For models that take matrices, Keras computes in
float64, except for the comparison with a SavedModel.

{drift}

## Largest difference of a score

The largest difference between two scores, divided by the standard deviation of Keras's scores. The
scores are the distances between all pairs of recordings. For classifiers of images, the scores are
the scores of the classes.

{difference}

## Decisions that flip

A decision is a pair of recordings and a threshold for the distance of the file: accept if the
distance is at most the threshold. A decision flips if only one of the two distances is at or below
the threshold. For classifiers of images, a decision is the class with the highest score. A dash
stands for a model without thresholds.

{flips}

## Why a target does not run a model

{reasons}
"""


def format_page(all_cells: list[Cell]) -> str:
    """Returns the page with the tables of all figures.

    Args:
        all_cells: Cells of all models. The page lists the models without results.
    """
    from export.agreement import Agreement

    cells = [cell for cell in all_cells if cell.results]
    names = list(dict.fromkeys(cell.model for cell in cells))
    without = dict.fromkeys(cell.model for cell in all_cells if cell.model not in names)
    reasons = {}
    for cell in cells:
        if cell.refusal():
            reasons.setdefault(cut_to_first_sentence(cell.refusal()), len(reasons) + 1)
    measured = [cell for cell in cells if "agreement" in cell.results and not cell.refusal()]
    versions = sorted({cell.results["agreement"]["version"] for cell in measured})
    befores = {
        title: min(
            (c.results["agreement"]["before"] for c in measured if c.target == target), default=None
        )
        for target, title in TITLES.items()
    }
    facts = {cell.model: cell.results["agreement"] for cell in measured}
    by_name = {(cell.model, cell.target): cell for cell in cells}

    def format_cell(cell, step, text):
        """Returns the text of a cell for the figure of a step."""
        if cell is not None and cell.refusal():
            verb = "fails" if "bytes" in cell.results["export"] else "refuses"
            return f"{verb} [{reasons[cut_to_first_sentence(cell.refusal())]}]"
        return "" if cell is None or step not in cell.results else text(cell.results[step])

    def format_table(step, text, first=(), fact=None):
        """Returns the table of one figure.

        Args:
            step: Step that measures the figure.
            text: Function from the result of the step to the text of a cell.
            first: Rows before the rows of models.
            fact: Name of a fact about the recordings for a column after the name of the model.
        """
        columns = ["model", *([fact] if fact else []), *TITLES.values()]
        rows = [columns, ["---", *["---:"] * (len(columns) - 1)], *first]
        for name in names:
            about = [str(facts.get(name, {}).get(fact) or "an image")] if fact else []
            texts = [format_cell(by_name.get((name, target)), step, text) for target in TITLES]
            rows.append([name, *about, *texts])
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def format_megabytes(number):
        return "" if number is None else f"{number / 1e6:.0f}"

    def format_flips(row):
        fields = [field.name for field in dataclasses.fields(Agreement)]
        return Agreement(**{field: row[field] for field in fields}).cell()

    return TEXT.format(
        machine=describe_machine(),
        versions=", ".join(versions),
        without=", ".join(without) or "none",
        most=max((row["most"] for row in facts.values()), default=MOST),
        size=format_table("export", lambda row: f"{row['bytes'] / 1000:,.1f}"),
        ms=format_table("milliseconds", lambda row: f"{row['ms']:.2f}", fact="steps"),
        memory=format_table(
            "agreement",
            lambda row: format_megabytes(row["memory"]),
            first=[["(before)", *map(format_megabytes, befores.values())]],
        ),
        drift=format_table("agreement", lambda row: f"{100 * row['drift']:.1g}"),
        difference=format_table("agreement", lambda row: f"{row['difference']:.1g}"),
        flips=format_table("agreement", format_flips, fact="recordings"),
        reasons="\n".join(f"{number}. {reason}" for reason, number in reasons.items()),
    )


def cut_to_first_sentence(text: str) -> str:
    """Returns the first sentence of a message. The other sentences are advice."""
    return f"{text.partition('. ')[0].rstrip('.')}."


def describe_machine() -> str:
    """Describes the processor of this computer."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} cores, {platform.machine()}, {next(iter(names), 'unknown processor')}"


if __name__ == "__main__":
    main()
