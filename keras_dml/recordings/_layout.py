"""Finds the delimiter, the names of the columns and the rows of a text table."""

import array
import collections
import csv
import dataclasses
import itertools
import pathlib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from keras_dml.recordings import _bounds, _cells, _units

# None means that the table has one column without a delimiter. If two delimiters fit equally well,
# the delimiter that is listed first is used.
DELIMITERS = ("\t", ";", "|", ",", " ", None)
COMMENTS = ("#", "%", "//")
ERRORS_OF_EXCEL = ("#N/A", "#DIV", "#VALUE", "#REF", "#NUM", "#NAME")
LONGEST = 500  # limit for the characters of a line before the table that may state a rate
SAMPLE, FEWEST = 300, 8  # usual and smallest number of lines that determine the delimiter
SAMPLE_LETTERS = 2**19  # limit for the characters of these lines
PART = 2**18  # number of characters that are split into lines at once
BLOCK = 2**16  # number of cells that are joined at once
LONGEST_LINE = 2**17  # limit for the characters of a line, equal to the csv module's field limit
MOST_COMMENTS = 10_000  # limit for the comments that are searched for column names
MOST_LINES_BEFORE = 60  # limit for the lines before the column names
SEPARATOR = re.compile(r'"?sep=(\\t|[^"])"?[;,\t]*', re.IGNORECASE)  # Excel's first line
RATE = re.compile(
    r"(?:sampl\w+ (?:rate|frequency)\W*| at )([0-9]+(?:\.[0-9]+)?) ?Hz", re.IGNORECASE
)
STEP = re.compile(r"([0-9]+(?:\.[0-9]+)?) (msec|sec)/sample", re.IGNORECASE)
ARROW = re.compile(r"([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}) -> ?(.*)")
COMMENT, OF_SEPARATOR = "comment", "separator"  # kinds of lines that are not rows
FIT_MESSAGES = "Type,Local Number,Message"  # first column names in the output of FitCSVTool
# Weights for the score of a layout: with column names, without column names, and with a fault.
SURE, NUMBERED, FAULTY = 1.0, 0.9, 0.3


@dataclasses.dataclass
class Layout:
    """Cells of a text table, with the names of the columns.

    Attributes:
        names: Names of the columns. If the file does not name a column, the name of this column is
            empty.
        header: Place of the names in the file, such as `line 1`.
        lines: Line number of each row.
        columns: `_cells.Column` for each name.
        notes: Sentences that describe assumptions about the file.
        rate_hz: Sampling rate that is stated in a line before the rows, or None.
    """

    names: list[Any]
    header: str
    lines: array.array
    columns: list[Any]
    notes: list[Any]
    rate_hz: float | None = None


@dataclasses.dataclass
class _Guess:
    """Layout that a table has if its delimiter is `delimiter`.

    Attributes:
        delimiter: Delimiter. None if the table has one column.
        width: Number of cells in most rows.
        score: Number of numeric cells per line, multiplied by the weight `SURE`, `NUMBERED` or
            `FAULTY`. The layout with the highest score is used.
        heads: List of `(line number, cells)` for each line with names or units. The list is empty
            if the table has no names.
        start: Line number of the first row.
        fault: Reason why the table cannot be read, or None.
        is_comment: Whether the names are in a comment.
    """

    delimiter: str | None
    width: int = 0
    score: float = 0.0
    heads: list[Any] = dataclasses.field(default_factory=list)
    start: int = 0
    fault: str | None = None
    is_comment: bool = False


class _Row(NamedTuple):
    """Line in the sample from which the layout of a text table is determined.

    Attributes:
        number: Line number.
        cells: Cells of the line.
        values: Indices of the cells that are numbers or dates.
    """

    number: int
    cells: list[Any]
    values: list[Any]


class _Lines:
    """Lines of a text that are not empty.

    The class splits the text in parts, because a list of all lines would take ten times the memory
    of the text.

    Args:
        path: Path of the file, for errors.
        text: Text of the file.

    Attributes:
        comments: Number of comment lines.
        first: `(line number, line)` of the first line.
        separator: Delimiter that the first line states, or None. For example, Excel writes the line
            `sep=;` at the beginning of a file.
        has_times: Whether each line begins with a time and an arrow, as in the output of the
            Arduino serial monitor.
    """

    def __init__(self, path: pathlib.Path, text: str):
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._path, self._text = path, text
        self.separator, self.has_times = None, False
        self.first = next(((numbers[0], lines[0]) for numbers, lines in self._parts()), None)
        if self.first is None:
            return
        if ARROW.match(self.first[1]):
            self.has_times = all(ARROW.match(line) for _, part in self._parts() for line in part)
        line = self.first[1]
        match = SEPARATOR.fullmatch((ARROW.match(line)[2] if self.has_times else line).strip(" "))
        if match:
            self.separator = "\t" if match[1] == r"\t" else match[1]

    def sample(self):
        """Returns a sample of the lines. The sample determines the layout of the table.

        Returns:
            `(lines, total, comments)`. `lines` are the first and the last lines of the table, and
            `total` is the number of all lines of the table. Each line and each comment is a pair
            `(line number, text)`.
        """
        head, tail, total = [], collections.deque(maxlen=SAMPLE // 3), 0
        comments = collections.deque(maxlen=MOST_COMMENTS)
        for numbers, lines, _ in self.parts(comments):
            head += zip(numbers[: SAMPLE - len(head)], lines, strict=False)
            tail.extend(zip(numbers[-SAMPLE // 3 :], lines[-SAMPLE // 3 :], strict=True))
            total += len(lines)
        tail = [*tail]
        longest = max((len(line) for _, line in head + tail), default=1)
        count = max(FEWEST, min(SAMPLE, SAMPLE_LETTERS // longest))
        if total > count:
            head = head[: count * 2 // 3] + tail[-(count // 3) :]
        return head, total, [*comments]

    def parts(self, comments=()):
        """Iterates over the lines in parts. Leaves out comments and lines such as `sep=;`.

        Args:
            comments: List that receives `(line number, line)` for each comment.

        Yields:
            `(numbers, lines, times)` for each part: the line numbers, the texts of the lines, and
            the times before the arrows. `times` is empty if the lines have no arrows.
        """
        self.comments = 0
        for numbers, lines in self._parts():
            times = ()
            if self.has_times:
                times, lines = zip(*(ARROW.match(line).groups() for line in lines), strict=True)
            kinds = [self._kind(line) for line in lines] if self._may_have_kinds(lines) else ()
            if any(kinds):
                self.comments += kinds.count(COMMENT)
                is_first = len(comments) < MOST_COMMENTS and not isinstance(comments, tuple)
                if is_first:
                    every = zip(numbers, lines, kinds, strict=True)
                    comments.extend((n, line) for n, line, kind in every if kind == COMMENT)
                is_plain = [not kind for kind in kinds]
                numbers, lines, times = (
                    list(itertools.compress(values, is_plain)) for values in (numbers, lines, times)
                )
            if lines:
                yield numbers, lines, times

    def _may_have_kinds(self, lines):
        """Returns whether any line may be a comment or may state the delimiter as in `sep=;`.

        The method joins the lines to one text, because one search in a long text is fast.
        """
        joined = "\n".join(lines)
        return self.separator is not None or any(mark in joined for mark in COMMENTS)

    def _kind(self, line):
        if self.separator is not None and SEPARATOR.fullmatch(line.strip(" ")):
            return OF_SEPARATOR
        return COMMENT if _is_comment(line) else None

    def _parts(self):
        """Iterates over parts of the text. Yields the line numbers and the texts of the lines that
        are not empty."""
        text, start, number = self._text, 0, 1
        while start < len(text):
            end = text.find("\n", start + PART)
            end = len(text) if end < 0 else end
            lines = text[start:end].split("\n")
            longest = max(map(len, lines))
            if longest > LONGEST_LINE:
                number += next(i for i, line in enumerate(lines) if len(line) == longest)
                raise ValueError(
                    f"{self._path}, line {number} has {longest:,} letters, but a line may have up "
                    f"to {LONGEST_LINE:,}. Write one line per time step."
                )
            numbers = range(number, number + len(lines))
            start, number = end + 1, number + len(lines)
            if not all(map(str.strip, lines)):
                full = [bool(line.strip()) for line in lines]
                numbers, lines = (
                    list(itertools.compress(values, full)) for values in (numbers, lines)
                )
            if lines:
                yield numbers, lines


def find(path: pathlib.Path, text: str) -> Layout:
    """Finds the column names and the rows of a text table.

    The function groups lines that have the same number of cells, and treats the group with the most
    numbers as the rows of the table. The names are in the line before the rows. The function leaves
    out comments, other lines before the rows, and lines that repeat the names.

    Args:
        path: Path of the file, for errors.
        text: Text of the file.

    Returns:
        `Layout`.

    Raises:
        ValueError: If the file is empty, if it exceeds the limits of `_bounds`, if the names are
            ambiguous, or if rows have different numbers of cells. The message contains the line
            number.
    """
    lines = _Lines(path, text)
    if lines.first is None:
        raise ValueError(f"{path} is empty. Leave it out.")
    if lines.first[1].startswith("** CONVERTED FROM"):
        raise ValueError(
            f"{path} is an ASC file of EyeLink, which mixes samples and messages. Write a sample "
            "report with EyeLink Data Viewer, and read the report."
        )
    if lines.first[1].startswith(FIT_MESSAGES):
        raise ValueError(
            f"{path} is a list of FIT messages of several kinds. Write a table of the records with "
            "FitCSVTool and its option --data record, and read the table."
        )
    delimiters = DELIMITERS if lines.separator is None else (lines.separator, None)
    sample, total, comments = lines.sample()
    if not total:
        raise ValueError(f"{path} holds only comments and no rows. Leave it out.")
    _bounds.check_numbers(path, total, _bounds.most_numbers(path))
    best = max(_guesses(path, sample, comments, delimiters), key=lambda guess: guess.score)
    if not best.score:
        best = _first_line(sample, delimiters)
    _bounds.check_columns(path, f"line {best.start}", best.width)
    if best.fault is not None:
        raise ValueError(best.fault)
    is_torn = text[-1:] not in ("\n", "\r")
    layout = _layout(path, best, lines, sample, is_torn)
    if lines.comments > best.is_comment * len(best.heads):
        layout.notes.append("Comment lines were left out.")
    if lines.has_times:
        layout.notes.append("The text before the arrow in each line was read as the time.")
    layout.rate_hz = layout.rate_hz or _rate_hz(
        [line for number, line in sorted(sample + comments) if number < best.start]
    )
    return layout


def looks_like_table(text: str) -> bool:
    """Returns whether a text contains rows of numbers, or a name above a column of numbers."""
    lines = [(i, line) for i, line in enumerate(text.splitlines()) if line.strip()][:SAMPLE]
    plain = [line for line in lines if not _is_comment(line[1])]
    guesses = _guesses("", plain, [], DELIMITERS) if plain else []
    return any(guess.score > 0.5 for guess in guesses)


def _guesses(path, sample, comments, delimiters):
    """Returns a `_Guess` for each delimiter that may have the highest score.

    Delimiters that no line contains have the score 0. A table of one column without a delimiter has
    at most the score 1.
    """
    text = "\n".join(line for _, line in sample)
    guesses = []
    for delimiter in delimiters:
        if delimiter is None:
            is_possible = all(guess.score < 1 for guess in guesses)
        else:
            # tabs are replaced by spaces if the delimiter is a space
            is_possible = delimiter in text or (delimiter == " " and "\t" in text)
        if is_possible:
            guesses.append(_guess(path, sample, comments, delimiter))
    return guesses


def _guess(path, sample, comments, delimiter):
    """Guesses the layout of the sample lines for one delimiter. Returns a `_Guess`."""
    rows = [
        _Row(number, cells, _value_columns(cells)) for number, cells in _split(sample, delimiter)
    ]
    counts = collections.Counter()
    for row in rows:
        counts[len(row.cells)] += len(row.values)
    if not counts:
        return _Guess(delimiter)  # a cell is too long for the csv module
    guess = _Guess(delimiter, _width(rows, counts))
    if not counts[guess.width] or (guess.width == 1 and delimiter is not None):
        return guess
    first = next(i for i, row in enumerate(rows) if len(row.cells) == guess.width)
    body = [row for row in rows if len(row.cells) == guess.width]
    start, guess.heads = _heads(body)
    weight = SURE
    if not guess.heads:
        guess.heads, guess.fault = _line_before(path, rows, first, body, sample, delimiter)
        weight = FAULTY if guess.fault else SURE
    if not guess.heads and not guess.fault:
        guess.heads = _heads_in_comments(comments, body, delimiter)
        guess.is_comment = bool(guess.heads)
    if not guess.heads and not guess.fault:
        weight, guess.fault = NUMBERED, _fault_without_names(path, body, delimiter)
    if delimiter is None and any(
        mark in cell for _, cells in guess.heads for mark in ",;\t|" for cell in cells
    ):
        number = guess.heads[0][0]
        weight = FAULTY
        guess.fault = (
            f"{path}, line {number} names several columns, and the lines below have one field. "
            "Each line needs one field per column."
        )
    data = body[start:]
    guess.start = data[0].number if data else body[-1].number + 1
    values = sum(len(row.values) for row in data)
    cells = sum(map(_count_present, data))
    guess.score = weight * values / len(rows) * values / max(cells, 1)
    return guess


def _count_present(row):
    """Returns the number of cells of a row that are not missing."""
    if len(row.values) == len(row.cells):
        return len(row.cells)
    return sum(not _cells.is_missing(cell) for cell in row.cells)


def _width(rows, counts):
    """Returns the number of cells in a row of the table.

    The function groups lines that have the same number of cells. The group of the first line is the
    table if the first line has several cells and no group has more than twice as many numbers. In
    all other cases, the group with the most numbers is the table.
    """
    most = max(counts, key=counts.get)
    first = len(rows[0].cells)
    return first if first > 1 and 2 * counts[first] >= counts[most] else most


def _heads(body):
    """Returns the index of the first row, and a list of the earlier lines that contain names and
    units."""
    lines = [(row.number, row.cells) for row in body]
    is_pandas = len(body) > 1 and lines[0][1] == ["", *map(str, range(len(lines[0][1]) - 1))]
    if is_pandas:
        return 1, lines[:1]
    below = _values_below(body)
    end = _end_of_heads(body, below, 0)
    for i in range(max(end, 1), min(len(body) - 1, MOST_LINES_BEFORE)):
        values = body[i + 1].values
        if _is_names(body[i], values):  # the preceding lines must not be rows of the table
            between = [row.cells for row in body[end:i]]
            if all(any(_is_text(cells[j]) for j in values) for cells in between):
                last = _end_of_heads(body, below, i)
                return last, lines[i:last]
            break
    return end, lines[:end]


def _values_below(body):
    """Finds, for each line, the next line that contains numbers. Returns the indices of the numeric
    cells in the lines that were found."""
    below, values = [], []
    for row in reversed(body):
        below.append(values)
        values = row.values or values
    return below[::-1]


def _end_of_heads(body, below, start):
    """Returns the index of the first line at or after `start` that contains no names or units."""
    end = start
    while end < len(body) and _is_head(body, below, end, start):
        end += 1
    return end


def _is_names(row, values):
    """Returns whether a line contains no number, and a different text in each column of numbers."""
    is_text = bool(values) and not row.values and all(_is_text(row.cells[j]) for j in values)
    return is_text and len({*row.cells}) == len(row.cells)


def _is_head(body, below, i, first):
    """Returns whether a line may contain names or units.

    Such a line has a text above a number. A line that also contains numbers must be the first line.
    """
    row, values = body[i], below[i]
    if row.values:
        if i > first:
            return False
        values = body[i + 1].values if i + 1 < len(body) else []
    return any(_is_text(row.cells[j]) for j in values)


def _line_before(path, rows, first, body, sample, delimiter):
    """Finds the names of the columns in the line before the rows. The line with the names may have
    fewer or more cells than the rows.

    Returns:
        The lines that contain names. The reason why the names do not fit the rows, or None if the
        names fit.
    """
    if not first:
        return [], None
    number, cells, _ = rows[first - 1]
    names = _without_end(cells)
    if not any(letter.isalnum() for cell in names for letter in cell):
        return [], None  # a ruler such as -----
    width = len(body[0].cells)
    if len(names) <= width and not any("".join(row.cells[len(names) :]).strip() for row in body):
        return [(number, names)], None
    is_r = delimiter in (" ", "\t") and dict(sample)[body[0].number].lstrip().startswith('"')
    if is_r and len(names) == width - 1 and counts([row.cells[0] for row in body]):
        return [(number, ["", *names])], None
    if delimiter == " ":
        spaced = re.split(r"\s{2,}|\t", dict(sample)[number].strip())
        if len(spaced) == width:
            return [(number, spaced)], None
    return [], _ragged(path, body[0].number, width, number, len(names))


def _heads_in_comments(comments, body, delimiter):
    """Returns the comments that stand before the rows and contain names or units of the columns."""
    heads = []
    for number, line in comments:
        text = line.lstrip('" ')
        for mark in COMMENTS:
            text = text.removeprefix(mark)
        cells = _without_end(_split([(number, text.lstrip("#%/ "))], delimiter)[0][1:][0])
        if number < body[0].number and len(cells) == len(body[0].cells) > 1:
            if not any(map(_is_value, cells)):
                heads.append((number, cells))
                continue
        heads = heads if number > body[0].number else []
    return heads


def _fault_without_names(path, body, delimiter):
    """Returns the reason why the rows of a table without column names are ambiguous. Returns None
    if the rows are not ambiguous."""
    number, first, _ = body[0]
    numbers = [*map(str, range(len(first) + 1))]
    line = (delimiter or ",").join(first)
    line = line if len(line) <= 40 else f"{line[:40]}..."
    if len(first) > 1 and first in (numbers[:-1], numbers[1:]):
        return (
            f"{path}, line {number}: names of the columns are expected, such as x,y,z. Received "
            f"{line!r}. Insert a line with the names above this line."
        )
    is_whole = all(re.fullmatch(r"-?[0-9]+", cell.strip()) for row in body for cell in row.cells)
    is_unsigned = not any(cell.strip().startswith("-") for row in body for cell in row.cells[1::2])
    if delimiter == "," and len(first) % 2 == 0 and is_whole and is_unsigned:
        return (
            f"{path}, line {number}: {line!r} may be {len(first)} whole numbers, or "
            f"{len(first) // 2} numbers with decimal commas. Insert a line with the names of the "
            "columns above this line."
        )
    return None


def _first_line(plain, delimiters):
    """Returns the `_Guess` for a table without numbers, whose first line contains the names of the
    columns."""
    number, line = plain[0]
    single = [delimiter for delimiter in delimiters if delimiter not in (None, " ")] or delimiters
    delimiter = max(single, key=lambda one: line.count(one or "\0"))
    rows = _split(plain, delimiter)
    if not rows:
        return _Guess(delimiter, 1, start=number)
    return _Guess(delimiter, len(rows[0][1]), heads=rows[:1], start=number + 1)


def _layout(path, guess, lines, sample, is_torn):
    notes = ["Columns were separated at spaces."] if guess.delimiter == " " else []
    names, header, used = _names(guess, notes)
    before = [(number, line) for number, line in sample if number < guess.start]
    if any(number not in used for number, _ in before):
        notes.append("Lines before the names of the columns were left out.")
    least = len(_without_end(names))
    table = _Packed(path, header, len(names), least)
    rows = _Rows(path, guess, lines, {line for _, line in before if not _is_value(line)})
    rate, count, pending = None, None, _Block([], [], [])
    for block in itertools.chain(rows, [None]):
        is_first = not table.lines and not pending.rows
        pending.add(block or _Block([], [], []))
        if is_first:
            rate = _start_and_rate(guess, pending, notes)
            count = _dropcounts(pending)
        if block is None:
            _drop_torn(least, pending, is_torn, notes)
        rest = 0 if block is None else 2  # the last rows may be incomplete
        table.extend(pending.pop(len(pending.rows) - rest))
    if rows.repeated:
        notes.append("Lines that repeat the first lines were left out.")
    if count is not None and {cell.strip() for cell in count.rows[0]} - {""} == {
        str(len(table.lines))
    }:
        notes.append("A row that states the number of rows was left out.")
    elif count is not None:
        table.insert_first(count)
    full = [
        bool(name) or not column.is_blank()
        for name, column in zip(names, table.columns, strict=True)
    ]
    names, columns = (list(itertools.compress(values, full)) for values in (names, table.columns))
    if lines.has_times:
        names, columns = [*names, "time"], [*columns, table.times]
    return Layout(names, header, table.lines, columns, notes, rate)


@dataclasses.dataclass
class _Block:
    """Block of consecutive rows of a table.

    Attributes:
        numbers: Line number of each row.
        rows: Cells of each row.
        times: Time before the arrow in each row. The list is empty if the lines have no arrows.
    """

    numbers: list[Any]
    rows: list[Any]
    times: list[Any]

    def add(self, block):
        """Appends the rows of another block."""
        self.numbers += block.numbers
        self.rows += block.rows
        self.times += block.times

    def pop(self, count):
        """Removes the first rows and returns them as a block."""
        count = max(count, 0)
        lists = self.numbers, self.rows, self.times
        first = _Block(*(values[:count] for values in lists))
        for values in lists:
            del values[:count]
        return first

    def selected(self, is_row):
        """Returns a block with the rows for which `is_row` is True."""
        lists = self.numbers, self.rows, self.times
        return _Block(*(list(itertools.compress(values, is_row)) for values in lists))


class _Rows:
    """Iterable over a table's rows, in blocks.

    Args:
        path: Path of the file, for errors.
        guess: `_Guess` that describes the layout.
        lines: `_Lines` of the file.
        before: Lines before the first row. The iterable leaves out later lines that are equal to a
            line in `before`.

    Attributes:
        repeated: Whether a line among the rows was equal to a line before the first row.
    """

    def __init__(self, path, guess, lines, before):
        self._path, self._guess, self._lines, self._before = path, guess, lines, before
        self.repeated = False
        self._heads = [[cell.strip() for cell in _without_end(cells)] for _, cells in guess.heads]
        self._begins = {cells[0] for cells in self._heads if cells}
        self._numbers, self._times = array.array("i"), []

    def __iter__(self):
        lines = itertools.chain.from_iterable(self._parts())
        delimiter = self._guess.delimiter
        rows = max(2, BLOCK // self._guess.width)
        if delimiter is None:
            done = 0
            while part := [[line.strip().strip('"')] for line in itertools.islice(lines, rows)]:
                yield self._block(part, range(done, done + len(part)))
                done += len(part)
            return
        reader, starts, part = _reader(lines, delimiter, strict=True), [], []
        try:
            start = 0
            for row in reader:
                part.append(row)
                starts.append(start)
                start = reader.line_num
                if len(part) == rows:
                    yield self._block(part, starts)
                    starts, part = [], []
        except csv.Error as error:
            raise ValueError(
                f"{self._path}, line {self._numbers[reader.line_num - 1]}: not valid CSV: {error}. "
                "Write one line per step, with its fields separated by commas."
            ) from None
        if part:
            yield self._block(part, starts)

    def _parts(self):
        """Iterates over lists of lines, beginning at the first row of the table. Stores the line
        number and the time of each line."""
        for numbers, lines, times in self._lines.parts():
            if numbers[-1] < self._guess.start:
                continue
            is_row = None
            if numbers[0] < self._guess.start:
                is_row = [number >= self._guess.start for number in numbers]
            if not self._before.isdisjoint(lines):
                is_new = [line not in self._before for line in lines]
                starts = is_row or [True] * len(lines)
                is_row = [start and new for start, new in zip(starts, is_new, strict=True)]
                self.repeated |= is_row != starts
            if is_row is not None:
                numbers, lines, times = (
                    list(itertools.compress(values, is_row)) for values in (numbers, lines, times)
                )
            self._numbers.extend(numbers)
            self._times += times
            yield lines

    def _block(self, rows, starts):
        """Returns a `_Block` of rows. Leaves out rows that repeat the names."""
        times = [self._times[start] for start in starts] if self._times else []
        block = _Block([self._numbers[start] for start in starts], rows, times)
        if self._begins.isdisjoint([row[0].strip() if row else "" for row in rows]):
            return block
        is_row = [[cell.strip() for cell in _without_end(row)] not in self._heads for row in rows]
        self.repeated |= not all(is_row)
        return block.selected(is_row)


class _Packed:
    """Rows of a table, stored in columns to save memory.

    Args:
        path: Path of the file, for errors.
        header: Place of the names in the file, for errors.
        width: Number of columns.
        least: Smallest number of cells that a row may have. Only columns without a name may be
            missing at the end of a row.

    Attributes:
        lines: Line number of each row.
        columns: List of `_cells.Column`.
        times: `_cells.Column` of the times that stand before an arrow.
    """

    def __init__(self, path, header, width, least):
        self._path, self._header, self._width, self._least = path, header, width, least
        self._most = _bounds.most_numbers(path)
        self.lines = array.array("i")
        self.columns = [_cells.Column() for _ in range(width)]
        self.times = _cells.Column()

    def extend(self, block):
        """Appends the rows of a `_Block`.

        Raises:
            ValueError: If the number of cells in a row differs from the number of columns, or if
                the table exceeds the limits of `_bounds`.
        """
        rows = block.rows
        if not rows:
            return
        _bounds.check_numbers(
            self._path, (len(self.lines) + len(rows)) * max(self._width, 1), self._most
        )
        if {*map(len, rows)} != {self._width}:
            rows = [
                self._fitting(number, row) for number, row in zip(block.numbers, rows, strict=True)
            ]
        self.lines.extend(block.numbers)
        for column, texts in zip(self.columns, zip(*rows, strict=True), strict=True):
            column.extend(texts)
        if block.times:
            self.times.extend(block.times)

    def insert_first(self, block):
        """Inserts a block with one row before the first row."""
        self.lines.insert(0, block.numbers[0])
        row = self._fitting(block.numbers[0], block.rows[0])
        for column, text in zip(self.columns, row, strict=True):
            column.insert_first(text)
        if block.times:
            self.times.insert_first(block.times[0])

    def _fitting(self, number, row):
        """Removes or adds empty cells at the end of a row, so that the row has one cell for each
        column."""
        if len(row) == self._width:
            return row
        if len(row) < self._least or len(_without_end(row)) > self._width:
            raise ValueError(_ragged(self._path, number, len(row), self._header, self._least))
        return (row + [""] * self._width)[: self._width]


def _names(guess, notes):
    """Returns the names of the columns with their units, the place of the names, and the line
    numbers of all lines that contain names or units."""
    if not guess.heads:
        notes.append("The file does not name its columns. They are numbered from 1.")
        return [str(i) for i in range(1, guess.width + 1)], f"line {guess.start}", set()
    heads = [(number, [cell.strip() for cell in cells]) for number, cells in guess.heads]
    units = None
    if len(heads) > 1 and _is_units(heads[-1][1]):
        units = heads.pop()
    distinct = [head for head in heads if len({*filter(None, head[1])}) == sum(map(bool, head[1]))]
    number, names = (distinct or heads)[-1]
    used = {number}
    names = names + [""] * (guess.width - len(names))
    if units is not None:
        used.add(units[0])
        notes.append("The line below the names was read as the units of the columns.")
        cells = units[1] + [""] * (guess.width - len(units[1]))
        for i, unit in enumerate(cells):
            if names[i] and not names[i].endswith((")", "]")) and _units.is_unit(unit):
                names[i] = f"{names[i]} ({_units.unbracketed(unit)})"
    if guess.is_comment:
        notes.append("The names of the columns were read from a comment.")
    return names, f"line {number}", used


def _is_units(cells):
    cells = [cell for cell in cells if cell]
    return bool(cells) and 2 * sum(map(_units.is_unit, cells)) >= len(cells)


def _start_and_rate(guess, block, notes):
    """Returns the sampling rate of an Empatica file, or None if the file has another origin.

    The first row of an Empatica file contains the start time in seconds, and the second row
    contains the sampling rate. The function removes the first two rows of such a file.
    """
    if guess.heads or len(block.rows) < 2:
        return None
    starts, rates = ({cell.strip() for cell in row} for row in block.rows[:2])
    if len(starts) > 1 or len(rates) > 1:
        return None
    (start,), (rate,) = starts, rates
    is_time = re.fullmatch(r"[0-9]{10}(?:\.[0-9]*)?", start)
    if not is_time or not re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]*)?", rate) or not float(rate):
        return None
    block.pop(2)
    notes.append("The first two rows were read as the start time and the sampling rate.")
    return float(rate)


def _dropcounts(block):
    """Removes and returns the first row if this row states the number of rows, as in files by
    AcqKnowledge.

    Returns None if the first row does not state the number of rows.
    """
    if len(block.rows) < 2 or block.rows[0][0].strip():
        return None
    counts = {cell.strip() for cell in block.rows[0]} - {""}
    return block.pop(1) if len(counts) == 1 and re.fullmatch("[0-9]+", *counts) else None


def _drop_torn(width, block, is_torn, notes):
    """Removes the last row if the row is incomplete because the logger stopped while writing."""
    if len(block.rows) < 2:
        return
    last, before = block.rows[-1], block.rows[-2]
    is_short = len(last) < width
    j = len(last) - 1
    is_cut = is_torn and not is_short and len(before) == len(last) and _cells.is_number(before[j])
    is_cut = is_cut and (_is_text(last[j]) or not last[j].strip())
    if is_short or is_cut:
        del block.numbers[-1], block.rows[-1], block.times[-1:]
        notes.append("The last row was incomplete and was left out.")


def _rate_hz(lines):
    """Returns the sampling rate that is stated in the lines before a table.

    Returns None if the lines contain no rate or several rates.
    """
    lines = [line[:LONGEST] for line in lines]
    rates = {float(match[1]) for line in lines for match in RATE.finditer(line)}
    for line in lines:
        for match in STEP.finditer(line):
            if float(match[1]):
                rates.add((1000 if match[2].casefold() == "msec" else 1) / float(match[1]))
    return rates.pop() if len(rates) == 1 and min(rates) > 0 else None


def _split(lines, delimiter):
    """Returns `(line number, cells)` for each line. Stops before the first line that is not valid
    CSV.

    A quoted cell may contain line breaks.
    """
    numbers = [number for number, _ in lines]
    if delimiter is None:
        return [(number, [line.strip().strip('"')]) for number, line in lines]
    reader, rows, start = _reader((line for _, line in lines), delimiter), [], 0
    try:
        for row in reader:
            rows.append((numbers[start], row))
            start = reader.line_num
    except csv.Error:
        pass
    return rows


def _reader(lines, delimiter, strict=False):
    """Returns a `csv.reader` for lines."""
    if delimiter == " ":
        lines = (line.strip().replace("\t", " ") for line in lines)
    return csv.reader(
        (f"{line}\n" for line in lines),
        delimiter=delimiter,
        strict=strict,
        skipinitialspace=delimiter == " ",
    )


def _ragged(path, number, count, header, names):
    place = header if isinstance(header, str) else f"line {header}"
    return (
        f"{path}, line {number} has {count} fields, but {place} names {names} columns. Each line "
        "needs one field per column. If numbers have decimal commas, put the numbers in quotes, or "
        "separate the numbers by semicolons."
    )


def _is_comment(line):
    text = line.lstrip('" \t')
    return text.startswith(COMMENTS) and not text.startswith(ERRORS_OF_EXCEL)


def _is_value(cell):
    return _cells.is_number(cell) or _cells.is_date(cell)  # a missing cell is neither


def _is_text(cell):
    return not _cells.is_missing(cell) and not _is_value(cell)


def _value_columns(cells):
    return [j for j, cell in enumerate(cells) if _is_value(cell)]


def _without_end(cells):
    """Removes empty cells from the end of a list of cells."""
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def counts(texts: Iterable[str]) -> bool:
    """Returns whether texts are whole numbers that count rows. Either all steps of the numbers are
    positive, or most steps are 1."""
    before, rises, ones, steps = None, True, 0, 0
    for text in texts:
        if not re.fullmatch(r"[0-9]{1,15}", text.strip(), re.ASCII):
            return False
        number = int(text)
        if before is not None:
            rises = rises and number > before
            ones += number - before == 1
            steps += 1
        before = number
    return rises or 2 * ones > steps
