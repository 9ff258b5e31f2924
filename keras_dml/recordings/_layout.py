"""Finds the names, the rows and the delimiter of a text table."""

from __future__ import annotations

import collections
import csv
import dataclasses
import io
import re

from keras_dml.recordings import _cells, _units

DELIMITERS = ("\t", ";", "|", ",", " ", None)  # None: one column; of equally good ones the first
COMMENTS = ("#", "%", "//")
ERRORS_OF_EXCEL = ("#N/A", "#DIV", "#VALUE", "#REF", "#NUM", "#NAME")
LONGEST = 500  # letters of a line before the table in which a rate is looked for
SAMPLE = 300  # lines that decide on the delimiter
MOST_LINES_BEFORE = 60  # before the names
SEPARATOR = re.compile(r'"?sep=(\\t|[^"])"?[;,\t]*', re.IGNORECASE)  # Excel's first line
RATE = re.compile(
    r"(?:sampl\w+ (?:rate|frequency)\W*| at )([0-9]+(?:\.[0-9]+)?) ?Hz", re.IGNORECASE
)
STEP = re.compile(r"([0-9]+(?:\.[0-9]+)?) (msec|sec)/sample", re.IGNORECASE)
ARROW = re.compile(r"([0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}) -> ?(.*)")
FIT_MESSAGES = "Type,Local Number,Message"  # names in the lists of FitCSVTool
SURE, NUMBERED, FAULTY = 1.0, 0.9, 0.3  # weights: with names, without, and unreadable


@dataclasses.dataclass
class Layout:
    """Cells of a text table.

    Attributes:
        names: Names of the columns; empty for a column without one.
        header: Place of the names in the file.
        lines: Number of the line of each row.
        rows: Cells of each row, as many as there are names.
        notes: Sentences that say what was assumed.
        rate_hz: Rate that a line before the rows says; None if no line does.
    """

    names: list
    header: str
    lines: list
    rows: list
    notes: list
    rate_hz: float | None = None


@dataclasses.dataclass
class _Guess:
    """A reading of a table by one delimiter.

    Attributes:
        delimiter: The delimiter; None for one column.
        width: Number of cells of most rows.
        score: Numbers per line, weighted by how sure the names are.
        heads: `(number, cells)` of the lines with names and units; empty for a table without names.
        start: Number of the first line of data.
        fault: Why the table cannot be read; None if it can.
        is_comment: Whether the names are in a comment.
    """

    delimiter: str | None
    width: int = 0
    score: float = 0.0
    heads: list = dataclasses.field(default_factory=list)
    start: int = 0
    fault: str | None = None
    is_comment: bool = False


def find(path, text):
    """Finds the names and the rows of a text table.

    The table is the lines with the most numbers and one number of cells. Its names are in the line
    before. Other lines before them, comments, and lines that repeat the names are left out.

    Args:
        path: The file, for errors.
        text: Its text.

    Returns:
        `Layout`.

    Raises:
        ValueError: If the file is empty, the names are not unmistakable, or a row has another
            number of cells; the message names the line.
    """
    lines = [
        (number, line.rstrip("\n"))
        for number, line in enumerate(io.StringIO(text, newline=None), 1)
        if line.strip()
    ]
    if not lines:
        raise ValueError(f"{path} is empty: leave it out.")
    if lines[0][1].startswith("** CONVERTED FROM"):
        raise ValueError(
            f"{path} is an ASC file of EyeLink, which mixes samples and messages. Write a sample "
            "report by EyeLink Data Viewer and read the report."
        )
    if lines[0][1].startswith(FIT_MESSAGES):
        raise ValueError(
            f"{path} is a list of FIT messages of several kinds. Write a table of the records by "
            "FitCSVTool with --data record, and read that."
        )
    lines, times = _without_arrows(lines)
    delimiters, separator = DELIMITERS, SEPARATOR.fullmatch(lines[0][1].strip(" "))
    if separator:
        delimiters = ("\t" if separator[1] == r"\t" else separator[1], None)
        lines = [line for line in lines if not SEPARATOR.fullmatch(line[1].strip(" "))]
    comments = [line for line in lines if _is_comment(line[1])]
    plain = [line for line in lines if not _is_comment(line[1])]
    if not plain:
        raise ValueError(f"{path} holds comments alone, and no rows: leave it out.")
    sample = plain if len(plain) <= SAMPLE else plain[: SAMPLE * 2 // 3] + plain[-SAMPLE // 3 :]
    guesses = [_guess(path, sample, comments, delimiter) for delimiter in delimiters]
    best = max(guesses, key=lambda guess: guess.score)
    if not best.score:
        best = _first_line(plain, delimiters)
    if best.fault is not None:
        raise ValueError(best.fault)
    is_torn = text[-1:] not in ("\n", "\r")
    layout = _layout(path, best, plain, is_torn)
    if len(comments) > best.is_comment * len(best.heads):
        layout.notes.append("Comment lines were left out.")
    if times:
        layout.names.append("time")
        for number, row in zip(layout.lines, layout.rows, strict=True):
            row.append(times[number])
        layout.notes.append("The times before the arrows were read as times.")
    before = [line for number, line in lines if number < best.start]
    layout.rate_hz = layout.rate_hz or _rate_hz(before)
    return layout


def _without_arrows(lines):
    """Lines without the times that the serial monitor of Arduino writes, and these by number."""
    matches = [(number, ARROW.match(line)) for number, line in lines]
    if not all(match for _, match in matches):
        return lines, {}
    return [(number, match[2]) for number, match in matches], {
        number: match[1] for number, match in matches
    }


def looks_like_table(text):
    """Returns whether a text has rows of numbers, or names above a column of numbers."""
    lines = [(i, line) for i, line in enumerate(text.splitlines()) if line.strip()][:SAMPLE]
    plain = [line for line in lines if not _is_comment(line[1])]
    guesses = [_guess("", plain, [], delimiter) for delimiter in DELIMITERS] if plain else []
    return any(guess.score > 0.5 for guess in guesses)


def _guess(path, sample, comments, delimiter):
    rows = _split(sample, delimiter)
    counts = collections.Counter()
    for _, row in rows:
        counts[len(row)] += sum(map(_is_value, row))
    if not counts:
        return _Guess(delimiter)  # a cell is longer than the csv module reads
    guess = _Guess(delimiter, _width(rows, counts))
    if not counts[guess.width] or (guess.width == 1 and delimiter is not None):
        return guess
    first = next(i for i, (_, row) in enumerate(rows) if len(row) == guess.width)
    body = [line for line in rows if len(line[1]) == guess.width]
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
    guess.start = data[0][0] if data else body[-1][0] + 1
    values = sum(_is_value(cell) for _, row in data for cell in row)
    cells = sum(not _cells.is_missing(cell) for _, row in data for cell in row)
    guess.score = weight * values / len(rows) * values / max(cells, 1)
    return guess


def _width(rows, counts):
    """The number of cells of the rows with the most numbers; for a tie that of the first line."""
    most = max(counts, key=counts.get)
    first = len(rows[0][1])
    return first if first > 1 and 2 * counts[first] >= counts[most] else most


def _heads(body):
    """Lines of names and units, and the index of the first line of data."""
    is_pandas = len(body) > 1 and body[0][1] == ["", *map(str, range(len(body[0][1]) - 1))]
    if is_pandas:
        return 1, body[:1]
    end = _end_of_heads(body, 0)
    for i in range(max(end, 1), min(len(body) - 1, MOST_LINES_BEFORE)):
        values = _value_columns(body[i + 1][1])
        if _is_names(body[i][1], values):  # if the lines before are not rows of the table
            between = [row for _, row in body[end:i]]
            if all(any(_is_text(row[j]) for j in values) for row in between):
                last = _end_of_heads(body, i)
                return last, body[i:last]
            break
    return end, body[:end]


def _end_of_heads(body, start):
    """Index of the first line from a start that is not a line of names or units."""
    end = start
    while end < len(body) and _is_head(body, end, start):
        end += 1
    return end


def _is_names(cells, values):
    """Returns whether a line has a different text in each column of numbers, and no number."""
    is_text = bool(values) and all(_is_text(cells[j]) for j in values)
    return is_text and not any(map(_is_value, cells)) and len({*cells}) == len(cells)


def _is_head(body, i, first):
    """Returns whether a line has a text above a number. Only the first may have numbers too."""
    cells = body[i][1]
    has_values = any(map(_is_value, cells))
    if has_values and i > first:
        return False
    after = body[i + 1 : i + 2] if has_values else body[i + 1 :]
    below = next((row for _, row in after if any(map(_is_value, row))), ())
    return any(_is_text(cells[j]) for j in _value_columns(below))


def _line_before(path, rows, first, body, sample, delimiter):
    """The names in a line with another number of cells, or why it cannot have them."""
    if not first:
        return [], None
    number, cells = rows[first - 1]
    names = _without_end(cells)
    if not any(letter.isalnum() for cell in names for letter in cell):
        return [], None  # a rule, such as -----
    width = len(body[0][1])
    if len(names) <= width and not any("".join(row[len(names) :]).strip() for _, row in body):
        return [(number, names)], None
    is_r = delimiter in (" ", "\t") and dict(sample)[body[0][0]].lstrip().startswith('"')
    if is_r and len(names) == width - 1 and counts([row[0] for _, row in body]):
        return [(number, ["", *names])], None
    if delimiter == " ":
        spaced = re.split(r"\s{2,}|\t", dict(sample)[number].strip())
        if len(spaced) == width:
            return [(number, spaced)], None
    return [], _ragged(path, body[0][0], width, number, len(names))


def _heads_in_comments(comments, body, delimiter):
    heads = []
    for number, line in comments:
        text = line.lstrip('" ')
        for mark in COMMENTS:
            text = text.removeprefix(mark)
        cells = _without_end(_split([(number, text.lstrip("#%/ "))], delimiter)[0][1:][0])
        if number < body[0][0] and len(cells) == len(body[0][1]) > 1:
            if not any(map(_is_value, cells)):
                heads.append((number, cells))
                continue
        heads = heads if number > body[0][0] else []
    return heads


def _fault_without_names(path, body, delimiter):
    """Returns why rows without names have two readings; None if they have one."""
    number, first = body[0]
    numbers = [*map(str, range(len(first) + 1))]
    line = (delimiter or ",").join(first)
    line = line if len(line) <= 40 else f"{line[:40]}..."
    if len(first) > 1 and first in (numbers[:-1], numbers[1:]):
        return (
            f"{path}, line {number}: names of the columns are expected, such as x,y,z. Received "
            f"{line!r}. Put a line of names in front."
        )
    is_whole = all(re.fullmatch(r"-?[0-9]+", cell.strip()) for _, row in body for cell in row)
    is_unsigned = not any(cell.strip().startswith("-") for _, row in body for cell in row[1::2])
    if delimiter == "," and len(first) % 2 == 0 and is_whole and is_unsigned:
        return (
            f"{path}, line {number}: {line!r} may be {len(first)} whole numbers, or "
            f"{len(first) // 2} numbers with decimal commas. Put a line of names in front."
        )
    return None


def _first_line(plain, delimiters):
    """The reading of a table without numbers: the first line has the names."""
    number, line = plain[0]
    single = [delimiter for delimiter in delimiters if delimiter not in (None, " ")] or delimiters
    delimiter = max(single, key=lambda one: line.count(one or "\0"))
    rows = _split(plain, delimiter)
    if not rows:
        return _Guess(delimiter, 1, start=number)
    return _Guess(delimiter, len(rows[0][1]), heads=rows[:1], start=number + 1)


def _layout(path, guess, plain, is_torn):
    notes = ["Columns were separated at spaces."] if guess.delimiter == " " else []
    names, header, used = _names(guess, notes)
    left_out = [number for number, _ in plain if number < guess.start and number not in used]
    if left_out:
        notes.append("Lines before the names of the columns were left out.")
    lines, rows = [], []
    heads = [[cell.strip() for cell in _without_end(cells)] for _, cells in guess.heads]
    begins = {cells[0] for cells in heads if cells}
    before = {line for number, line in plain if number < guess.start and not _is_value(line)}
    data = [(number, line) for number, line in plain if number >= guess.start]
    repeated = sum(line in before for _, line in data)
    data = [(number, line) for number, line in data if line not in before]
    for number, row in _split(data, guess.delimiter, path):
        begin = row[0].strip() if row else ""
        if begin in begins and [cell.strip() for cell in _without_end(row)] in heads:
            repeated += 1
            continue
        lines.append(number)
        rows.append(row)
    if repeated:
        notes.append("Lines that repeat the first lines were left out.")
    rate = _start_and_rate(guess, lines, rows, notes)
    _dropcounts(lines, rows, notes)
    _drop_torn(len(_without_end(names)), lines, rows, is_torn, notes)
    least = len(_without_end(names))
    for i, (number, row) in enumerate(zip(lines, rows, strict=True)):
        if len(row) != len(names):
            if len(row) < least or len(_without_end(row)) > len(names):
                raise ValueError(_ragged(path, number, len(row), header, least))
            rows[i] = (row + [""] * len(names))[: len(names)]
    empty = {i for i, name in enumerate(names) if not name}
    empty = {i for i in empty if not any(row[i].strip() for row in rows)}
    if empty:
        columns = [i for i in range(len(names)) if i not in empty]
        names = [names[i] for i in columns]
        rows = [[row[i] for i in columns] for row in rows]
    return Layout(names, header, lines, rows, notes, rate)


def _names(guess, notes):
    """Names of the columns with their units, the place of the names, and the lines they are in."""
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


def _start_and_rate(guess, lines, rows, notes):
    """The rate in the second row of a file of Empatica, whose first row is the start in seconds."""
    if guess.heads or len(rows) < 2:
        return None
    starts, rates = ({cell.strip() for cell in row} for row in rows[:2])
    if len(starts) > 1 or len(rates) > 1:
        return None
    (start,), (rate,) = starts, rates
    is_time = re.fullmatch(r"[0-9]{10}(?:\.[0-9]*)?", start)
    if not is_time or not re.fullmatch(r"[0-9]{1,4}(?:\.[0-9]*)?", rate) or not float(rate):
        return None
    del lines[:2], rows[:2]
    notes.append("The first two rows were read as the start of the recording and its rate.")
    return float(rate)


def _dropcounts(lines, rows, notes):
    """Leaves out a first row with the number of rows in each column, as AcqKnowledge writes it."""
    if len(rows) < 2 or rows[0][0].strip():
        return
    if {cell.strip() for cell in rows[0]} - {""} == {str(len(rows) - 1)}:
        del lines[0], rows[0]
        notes.append("A row with the number of rows was left out.")


def _drop_torn(width, lines, rows, is_torn, notes):
    """Leaves out a last row that the logger did not finish."""
    if len(rows) < 2:
        return
    last, before = rows[-1], rows[-2]
    is_short = len(last) < width
    j = len(last) - 1
    is_cut = is_torn and not is_short and len(before) == len(last) and _cells.is_number(before[j])
    is_cut = is_cut and (_is_text(last[j]) or not last[j].strip())
    if is_short or is_cut:
        del lines[-1], rows[-1]
        notes.append("The last row was incomplete and was left out.")


def _rate_hz(lines):
    """The rate that lines before a table say; None if they say none, or several."""
    lines = [line[:LONGEST] for line in lines]
    rates = {float(match[1]) for line in lines for match in RATE.finditer(line)}
    for line in lines:
        for match in STEP.finditer(line):
            if float(match[1]):
                rates.add((1000 if match[2].casefold() == "msec" else 1) / float(match[1]))
    return rates.pop() if len(rates) == 1 and min(rates) > 0 else None


def _split(lines, delimiter, path=None):
    """`(number, cells)` of each line; a quoted cell may go over several lines.

    With a path, a line that is not valid CSV is refused; without one, rows end there.
    """
    numbers = [number for number, _ in lines]
    if delimiter is None:
        return [(number, [line.strip().strip('"')]) for number, line in lines]
    texts = (line.strip() if delimiter == " " else line for _, line in lines)
    texts = (line.replace("\t", " ") + "\n" if delimiter == " " else f"{line}\n" for line in texts)
    reader = csv.reader(
        texts, delimiter=delimiter, strict=path is not None, skipinitialspace=delimiter == " "
    )
    rows = []
    try:
        start = 0
        for row in reader:
            rows.append((numbers[start], row))
            start = reader.line_num
    except csv.Error as error:
        if path is not None:
            raise ValueError(
                f"{path}, line {numbers[reader.line_num - 1]}: not valid CSV: {error}. Write one "
                "line per step, with its fields separated by commas."
            ) from None
    return rows


def _ragged(path, number, count, header, names):
    place = header if isinstance(header, str) else f"line {header}"
    return (
        f"{path}, line {number} has {count} fields, {place} names {names} columns. Each line needs "
        "one field per column; numbers with decimal commas need quotes, or semicolons between them."
    )


def _is_comment(line):
    text = line.lstrip('" \t')
    return text.startswith(COMMENTS) and not text.startswith(ERRORS_OF_EXCEL)


def _is_value(cell):
    return not _cells.is_missing(cell) and (_cells.is_number(cell) or _cells.is_date(cell))


def _is_text(cell):
    return not _cells.is_missing(cell) and not _is_value(cell)


def _value_columns(cells):
    return [j for j, cell in enumerate(cells) if _is_value(cell)]


def _without_end(cells):
    """Cells without the empty ones at the end."""
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return cells[:end]


def counts(texts):
    """Returns whether texts are whole numbers from 0 up that mostly count by one."""
    if not all(re.fullmatch(r"[0-9]{1,15}", text.strip(), re.ASCII) for text in texts):
        return False
    numbers = [int(text) for text in texts]
    steps = [after - before for before, after in zip(numbers, numbers[1:], strict=False)]
    return all(step > 0 for step in steps) or 2 * steps.count(1) > len(steps)
