"""Defines the style of all plots, such as colors, fonts, titles and captions, and writes plots to
files.

The functions do not use pyplot, so they work without a window system and change no global state.
"""

from __future__ import annotations

import csv
import pathlib
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from keras_dml._files import path_with_name, replaceable_file, staged
from keras_dml._typing import Path

# Colors of Color Universal Design (Okabe-Ito, Okabe2008), which color-blind people can distinguish.
# In grayscale, any two curves in a plot differ in lightness or in dash pattern.
BLACK, ORANGE, SKY_BLUE, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GRAY, FAINT = "#595959", "#D9D9D9"
PALETTE = (VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY_BLUE, BLACK, GRAY)  # for many people

GENUINE, IMPOSTER = BLUE, ORANGE
PEOPLE = (BLACK, PURPLE)
# A method has the same color and dash pattern in all plots.
METHODS: dict[str, tuple[Any, Any]] = {
    "QP-WL": (VERMILLION, "-"),
    "QP-NPL": (SKY_BLUE, "--"),
    "MP-NPL": (GREEN, "-."),
    "QP-CLS": (GRAY, ":"),
    "QP-WL, gaze alone": (ORANGE, (0, (8, 2, 1, 2))),
    "Jäger et al. 2019": (PURPLE, (0, (6, 1))),
    "No network": (BLACK, (0, (1, 1))),
    "Untrained": (BLUE, (0, (3, 1, 1, 1))),
}
_OTHERS = ((VERMILLION, "-"), (SKY_BLUE, "--"), (GREEN, "-."), (GRAY, ":"), (PURPLE, (0, (6, 1))))

_LOOK = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRAY,
    "axes.grid": True,
    "axes.labelsize": 11,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
    "figure.constrained_layout.wspace": 0.06,
    "figure.dpi": 150,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "legend.fontsize": 10,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.solid_capstyle": "round",
    "savefig.dpi": 150,
    "svg.fonttype": "path",  # independent of installed fonts
    "svg.hashsalt": "keras_dml",
    "xtick.color": GRAY,
    "xtick.labelcolor": BLACK,
    "ytick.color": GRAY,
    "ytick.labelcolor": BLACK,
}


def house_style() -> AbstractContextManager[None]:
    """Returns a context manager. Figures that are drawn and saved within the block of this context
    manager have the style of the package.
    """
    return mpl.rc_context(_LOOK)


def new_figure(title: str, caption: str, *, width: float, height: float) -> Figure:
    """Creates a figure with a title at the top and a caption at the bottom.

    Args:
        title: Main result, in one sentence.
        caption: Text that names the data, the people, the protocol and the seeds.
        width: Width in inches.
        height: Height in inches.

    Returns:
        `matplotlib.figure.Figure`. Call the function and draw the figure within `house_style`.
    """
    figure = Figure(figsize=(width, height), layout="constrained")
    # About 7.8 characters per inch fit into the title, and about 14.5 characters per inch fit into
    # the caption.
    figure.suptitle(
        textwrap.fill(title, int(7.8 * width)), x=0.012, ha="left", fontsize=14, fontweight="bold"
    )
    if caption:
        wrapped = textwrap.fill(caption, int(14.5 * width))
        figure.supxlabel(wrapped, x=0.012, ha="left", fontsize=8.5, color=GRAY)
    return figure


def method_look(name: str, position: int) -> tuple[Any, ...]:
    """Returns the color and dash pattern of a method.

    If a method is not in `METHODS`, its position in the plot determines its color and dash pattern.
    """
    return METHODS.get(name, _OTHERS[position % len(_OTHERS)])


def sentence(text: str) -> str:
    """Returns a text with a capital first letter and a full stop at the end."""
    return f"{text[0].upper()}{text[1:]}."


def percent(fraction: float, digits: int = 1) -> str:
    """Formats a fraction in percent. For example, 0.021 gives `2.1 %`."""
    return f"{100 * fraction:.{digits}f} %"


def join_words(words: Iterable[Any]) -> str:
    """Joins words with commas and "and", as in `a, b and c`."""
    words = [str(word) for word in words]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def save(
    figure: Figure, stem: Path, table: Mapping[str, Sequence[Any]] | None = None
) -> list[pathlib.Path]:
    """Saves a figure as PNG (150 dpi) and SVG, and its table as CSV in the same folder.

    The function writes files atomically, so an interrupted run leaves no partial file.

    Args:
        figure: A figure of this package.
        stem: Path of the files without suffix. The function creates the folder.
        table: Dict from names to columns of equal length. By default, no CSV file is written.

    Returns:
        Paths of the files, in the order PNG, SVG, CSV.

    Raises:
        ValueError: If `stem` does not end with a name, or if one of the files exists and is not a
            regular file.
        OSError: If a file cannot be written.
    """
    stem = path_with_name(stem)
    stem.parent.mkdir(parents=True, exist_ok=True)
    png, svg, numbers = (stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg", "csv"))
    paths = [png, svg] if table is None else [png, svg, numbers]
    for target in paths:
        replaceable_file(target)
    for target, kind, metadata in ((png, "png", None), (svg, "svg", {"Date": None})):
        with staged(target) as candidate, house_style():
            figure.savefig(candidate, format=kind, metadata=metadata)
    if table is not None:
        save_table(table, numbers)
    return paths


def save_table(table: Mapping[str, Sequence[Any]], path: pathlib.Path) -> pathlib.Path:
    """Writes a table to a CSV file atomically.

    Args:
        table: Dict from names to columns of equal length.
        path: Path of the CSV file.

    Returns:
        `path`.
    """
    with staged(path) as candidate, candidate.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
    return path
