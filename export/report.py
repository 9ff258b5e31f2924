"""Writes measurements of exported files into `export/README.md` and into the model cards."""

import dataclasses
import pathlib

from export.agreement import DASH, Agreement
from keras_dml._files import write_text

README = pathlib.Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
COLUMNS = (
    "model",
    "format",
    "quantization",
    "size, KB",
    "latency, ms",
    "drift, %",
    "change in AUC",
    "flips",
)


@dataclasses.dataclass(frozen=True)
class Row:
    """Row of the table for one exported file.

    The distance that a device computes between embeddings may differ from the model's distance.

    Attributes:
        model: Name of the model.
        export: `Export`, the measurements of `keras_dml.export`.
        change: AUC or accuracy of the file, minus the AUC or accuracy that Keras reaches with the
            distance of the device. None if unknown.
        measure: `"accuracy"` or `"auc"`, as returned by `quality.metric_name`.
        of_distance: AUC or accuracy that Keras reaches with the distance of the device, minus the
            AUC or accuracy that Keras reaches with the distance of the model. None if the two
            distances are the same.
        agreement: Comparison of the file with Keras on real recordings. None if no recordings were
            available.
    """

    model: str
    export: object
    change: float | None
    measure: str = "auc"
    of_distance: float | None = None
    agreement: Agreement | None = None

    def cells(self) -> tuple[str, ...]:
        """Returns the cells of the row as texts, in the order of `COLUMNS`."""
        export = self.export
        timed = "an image" if export.steps is None else f"{export.steps} steps"
        return (
            self.model,
            export.format,
            export.quantization or "float32",
            f"{export.bytes / 1000:.1f}",
            f"{export.latency_ms:.2f} for {timed}",
            f"{100 * export.drift:.2g}",
            self._change(),
            DASH if self.agreement is None else self.agreement.cell(),
        )

    def _change(self):
        if self.change is None:
            return DASH
        number = f"{round(self.change, 4) + 0.0:+.4f}"
        return number if self.measure == "auc" else f"{number} ({self.measure})"

    def card(self) -> dict:
        """Returns the entry that a card stores under `exports`."""
        from keras_dml import training

        return training.export_row(self.export, self.measure, self.change, self.of_distance)


def write_table(rows: list[Row], readme: pathlib.Path = README) -> str:
    """Writes rows into the table of a page and keeps the rows of other models and formats.

    An empty cell of these other rows becomes a dash.

    Args:
        rows: `Row` objects.
        readme: Path of the page, which contains the lines `BEGIN` and `END`.

    Returns:
        The table as Markdown.
    """
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    table, tail = rest.split(END)
    old = [cells for cells in map(_cells, table.splitlines()[1:]) if len(cells) > 1]
    by_key = {cells[:3]: cells for cells in old}
    for key in [COLUMNS[:3], *(key for key in by_key if set(key[0]) <= {"-"})]:
        by_key.pop(key, None)
    by_key.update({row.cells()[:3]: row.cells() for row in rows})
    lines = [COLUMNS, ("---",) * 3 + ("---:",) * 5, *(by_key[key] for key in sorted(by_key))]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    write_text(readme, f"{head}{BEGIN}\n{table}\n{END}{tail}")
    return table


def write_cards(rows: list[Row]) -> None:
    """Writes all rows with a known change in AUC or accuracy into the cards of the models."""
    from keras_dml import training
    from keras_dml.zoo import catalog, lookup

    for name in sorted({row.model for row in rows}):
        new = [row.card() for row in rows if row.model == name and row.change is not None]
        replaced = {(entry["format"], entry["quantization"]) for entry in new}
        old = [
            entry
            for entry in catalog.card(name)["exports"]
            if (entry["format"], entry.get("quantization")) not in replaced
        ]
        if new:
            training.update(lookup.find(name), exports=[*old, *new])


def _cells(line):
    return tuple(cell.strip() or DASH for cell in line.strip().strip("|").split("|"))
