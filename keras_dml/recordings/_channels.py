"""Which columns of a file are the channels."""

import difflib
import re

import numpy as np

from keras_dml.recordings import _bounds

COUNTERS = {
    *("count", "counter", "frame", "frames", "id", "idx", "index", "line", "no", "nr", "number"),
    *("packet", "record", "row", "rows", "sample", "samples", "seq", "sequence", "step", "world"),
}
# Columns about the recording. `dt` is the length of a step, by which one tells devices apart.
ABOUT = {
    *("accuracy", "activity", "class", "comment", "confidence", "device", "dt", "event", "label"),
    *("marker", "participant", "person", "quality", "session", "status", "subject", "trial"),
    *("user", "valid", "validity"),
}
LEAST_ROWS = 8  # three numbers rise by chance
RISING = 0.95  # of the changes of a column; a counter of 8 bits starts again
LONGEST = 200  # letters of a name; patterns and comparisons take long over long texts
RISES, IS_CONSTANT = "it only rises or falls", "it holds one value"

_UNIT = re.compile(r"\s*[(\[]\s*([^()\[\]]*?)\s*[)\]]\s*$")


def split(name):
    """A column's name without its unit in brackets, and the unit: `"x (g)"` gives `("x", "g")`."""
    match = _UNIT.search(name)
    if match is None or not match.start():
        return name.strip(), None
    return name[: match.start()].strip(), match[1] or None


def shortened(names):
    """Returns names of columns as a tuple, of which none is very long."""
    return tuple(name if len(name) <= LONGEST else f"{name[:LONGEST]}..." for name in names)


def distinct(wanted):
    """Names of columns as a tuple.

    Raises:
        ValueError: If there are none, or one is empty or there twice.
    """
    names = tuple(str(name).strip() for name in ([wanted] if isinstance(wanted, str) else wanted))
    if not names or not all(names) or len(set(names)) < len(names):
        raise ValueError(f"`channels` must be names of columns, each once. Received {wanted!r}.")
    return names


def among(path, names, wanted, where):
    """Indices of the columns that are asked for.

    Args:
        path: The file, for errors.
        names: Names of all columns.
        wanted: Names asked for: as they stand, in other case, or without their unit in brackets.
        where: Place of the names in the file.

    Raises:
        ValueError: If a name is none of the columns, or two of them.
    """
    found = [_one(path, names, name, where) for name in wanted]
    if len(set(found)) < len(found):
        raise ValueError(
            f"{path}, {where}: {', '.join(wanted)} name one column twice. Name each once."
        )
    return found


def numbered(path, count, wanted):
    """Indices and names of the columns of a file that names none.

    Args:
        path: The file, for errors.
        count: Number of columns.
        wanted: Numbers of the columns from 1, as texts, or names of all columns; None: all.

    Raises:
        ValueError: If they are neither.
    """
    numbers = [str(i) for i in range(1, count + 1)]
    wanted = numbers if wanted is None else wanted
    if set(wanted) <= set(numbers):
        return [numbers.index(name) for name in wanted], tuple(wanted)
    if len(wanted) == count:
        return list(range(count)), tuple(wanted)
    raise ValueError(
        f"{path} has {count} channels without names, and {len(wanted)} were asked for: "
        f"{', '.join(wanted)}. Name all {count} in their order, or pick some by their numbers from "
        f"1 to {count}."
    )


def is_counter(name, values):
    """Returns whether a column rises or falls only, as clocks and counters do.

    A few changes may go the other way: a counter starts again, and a clock is set. A column with
    the name of a counter may be short.

    Args:
        name: Name of the column.
        values: Its numbers; NaN stands for a missing one.
    """
    values = values[np.isfinite(values)]
    changes = np.diff(values)
    changes = changes[changes != 0]
    if not len(changes) or (len(values) < LEAST_ROWS and not is_named_counter(name)):
        return False
    return max((changes > 0).mean(), (changes < 0).mean()) >= RISING


def is_named_counter(name):
    """Returns whether all words of a name are names of counters, as in `sampleIndex`."""
    return bool(words(name)) and words(name) <= COUNTERS


def is_about(name):
    """Returns whether a column describes the recording by its name, such as `confidence`."""
    return words(name) <= ABOUT | COUNTERS and bool(words(name) & ABOUT)


def is_constant(values):
    """Returns whether a column holds one value in all of its rows."""
    values = values[np.isfinite(values)]
    return len(values) >= LEAST_ROWS and values.min() == values.max()


def words(name):
    """Returns the words of a name in lower case, without a unit in brackets: `sampleCount [1]` has
    `sample` and `count`."""
    plain = re.sub(r"([a-z])([A-Z])", r"\1 \2", split(name)[0])
    return {word for word in re.split(r"[\W_\d]+", plain.casefold()) if word}


def _one(path, names, wanted, where):
    for same in (str, str.strip, str.casefold, lambda name: split(name)[0].casefold()):
        found = [i for i, name in enumerate(names) if same(name) == same(wanted)]
        if len(found) > 1:
            raise ValueError(
                f"{path}, {where}: {len(found)} columns are named {wanted!r}. Give each a name of "
                "its own."
            )
        if found:
            return found[0]
    near = difflib.get_close_matches(wanted, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{path}, {where}: there is no column {wanted!r}.{hint} Its columns are "
        f"{_bounds.join_first(names)}: give names among these, channels in the order of the "
        "model's."
    )
