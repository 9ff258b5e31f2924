"""The table of `export/README.md`, and the same figures in the models' cards."""

import dataclasses
import pathlib

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
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One exported file: what `keras_dml.export` measured, and its change in the figure by which
    the model is measured (`quality.metric_name`), where that is known.

    A device compares some embeddings by another distance than the model: `change` is that of the
    file by this distance, `of_distance` that of the distance in Keras.
    """

    model: str
    export: object
    change: float | None
    measure: str = "auc"
    of_distance: float | None = None

    def cells(self):
        made = self.export
        return (
            self.model,
            made.format,
            made.quantization or "float32",
            f"{made.bytes / 1000:.1f}",
            f"{made.latency_ms:.2f} for {_what(made)}",
            f"{100 * made.drift:.2g}",
            self._change(),
        )

    def _change(self):
        if self.change is None:
            return "–"
        number = f"{round(self.change, 4) + 0.0:+.4f}"
        return number if self.measure == "auc" else f"{number} ({self.measure})"

    def card(self):
        """Entry of a card's `exports`."""
        from keras_dml import training

        return training.export_row(self.export, self.measure, self.change, self.of_distance)


def _what(made):
    return "an image" if made.steps is None else f"{made.steps} steps"


def write_table(rows, readme=README):
    """Puts rows into the table of a README; rows of other models and formats stay.

    Args:
        rows: `Row` objects.
        readme: The file, which has the lines `BEGIN` and `END`.

    Returns:
        The table, Markdown.
    """
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    table, tail = rest.split(END)
    found = {cells[:3]: cells for cells in map(_cells, table.splitlines()[1:]) if len(cells) > 1}
    for key in [COLUMNS[:3], *(key for key in found if set(key[0]) <= {"-"})]:
        found.pop(key, None)
    found.update({row.cells()[:3]: row.cells() for row in rows})
    lines = [COLUMNS, ("---",) * 3 + ("---:",) * 4, *(found[key] for key in sorted(found))]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    write_text(readme, f"{head}{BEGIN}\n{table}\n{END}{tail}")
    return table


def write_cards(rows):
    """Puts the rows with a known change into the cards of their models."""
    from keras_dml import training
    from keras_dml.zoo import catalog, lookup

    for name in sorted({row.model for row in rows}):
        new = [row.card() for row in rows if row.model == name and row.change is not None]
        made = {(entry["format"], entry["quantization"]) for entry in new}
        old = [
            entry
            for entry in catalog.card(name)["exports"]
            if (entry["format"], entry.get("quantization")) not in made
        ]
        if new:
            training.update(lookup.find(name), exports=[*old, *new])


def _cells(line):
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
