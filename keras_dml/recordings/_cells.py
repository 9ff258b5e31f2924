"""Parses numbers, dates and times of day in the cells of a text table."""

import array
import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

# Cell texts, in lower case, that stand for a missing number.
MISSING = {"", ".", "-", "--", "nan", "na", "n/a", "#n/a", "null", "none"}
BOOLEANS = {"true": 1.0, "false": 0.0}
POINT, COMMA = ".", ","
COMMAS = "Decimal commas were read as decimal points."
THOUSANDS = "Thousands separators in numbers were ignored."
MINUS = "The character U+2212 was read as a minus sign."
_DIGITS = set("0123456789")
_PLAIN = _DIGITS | set("+-.eE ")  # float() misreads other characters, such as "1_0" as 10


def _form(mark, group):
    """Returns a regular expression that matches numbers with the given decimal mark and thousands
    separator."""
    whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+)"
    return re.compile(
        rf"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII
    )


_FORMS = {POINT: _form(r"\.", ","), COMMA: _form(",", r"\.")}
_SPACES = " '\u2019\u00a0\u2009\u202f"  # thousands separators in French, Swedish and Swiss texts
_SPACED = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf)", re.IGNORECASE)
_DATE = re.compile(
    r"[0-9]:[0-9]{2}|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[0-9]T[0-9]{2}"
    r"|^[0-9]{1,2} ?[AaPp]\.?[Mm]"
)
DAY = 86_400.0
LONGEST = 64  # limit for the characters of a date; regular expressions are slow on long texts
_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,2})(?:(?P<mark>[:.\-h])(?P<minute>[0-9]{1,2})"
    r"(?:[:.\-m](?P<second>[0-9]{1,2})s?(?P<fraction>[.,:_][0-9]{1,9})?)?)?"
    r"(?:\s*(?P<half>[AaPp])\.?\s?[Mm]\.?)?$"
)
_MINUTES = re.compile(r"(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(?P<fraction>[.,][0-9]{1,9})$")
_ZONE = re.compile(
    r"\s*(?P<zone>Z|(?:UTC|GMT)?[+-][0-9]{2}:?(?:[0-9]{2})?|[A-Z]{3,5}|\(?UTC\)?|\[[\w/]+\])$"
)
_BETWEEN = re.compile(  # text between a date and a time of day
    r"[T\s,_]+(?=[0-9]{1,2}[:.\-h][0-9]{1,2}|[0-9]{1,2}\s?[AaPp]\.?[Mm])"
)
_YEAR_FIRST = re.compile(r"([0-9]{4})[-/.]?([0-9]{1,2})[-/.]?([0-9]{1,2})$")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})$")
_ORDERS = ("year first", "day first", "month first")


class NotANumber(ValueError):
    """Error for a cell that is not a number. The message is empty if the cell is text.

    Attributes:
        row: Row index of the cell.
    """

    def __init__(self, row: int, reason: str = ""):
        super().__init__(reason)
        self.row = row


def is_missing(text: str) -> bool:
    """Returns whether a cell's text stands for a missing number."""
    return text.strip().casefold() in MISSING


def is_number(text: str) -> bool:
    """Returns whether a cell is a finite number, with a decimal point or a decimal comma."""
    if _FORMS[POINT].fullmatch(text):  # most cells
        return True
    text = _usual(text)
    return any(form.fullmatch(text) for form in _FORMS.values())


def is_date(text: str) -> bool:
    """Returns whether a cell looks like a date or a time of day."""
    return _DATE.search(text.strip()) is not None


class Column:
    """Cells in one column of a table. All cells in a block of rows are stored as one string.

    Storing joined strings saves memory: a million cells take 60 MB as a list of strings, but 4 MB
    as joined strings.

    Attributes:
        letters: Set of all characters in the cells.
    """

    def __init__(self):
        self._blocks = []
        self.letters = set()

    def extend(self, texts: Iterable[str]) -> None:
        """Appends the cells of one or more rows."""
        joined = "\0".join(texts)  # cells contain no zero bytes, because such files are refused
        self.letters.update(joined)
        self._blocks.append(joined.encode())

    def is_blank(self) -> bool:
        """Returns whether all cells are empty."""
        return not "".join(self.letters - {"\0"}).strip()

    def insert_first(self, text: str) -> None:
        """Inserts a cell before the first cell."""
        self.letters.update(text)
        self._blocks.insert(0, text.encode())

    def blocks(self) -> Iterator[list[str]]:
        """Iterates over blocks of rows. Yields one list of cells for each block."""
        return (block.decode().split("\0") for block in self._blocks)

    def __iter__(self):
        return itertools.chain.from_iterable(self.blocks())

    def cell(self, row: int) -> str:
        """Returns the cell of a row."""
        return next(itertools.islice(self, row, None))


class Columns:
    """Columns of cells that may contain numbers. All numbers in a column have the same decimal
    mark.

    A cell such as `1,234` may mean 1.234 or 1234. In this case, the other cells in the column
    decide. If all cells in the column are ambiguous, the class checks whether other columns contain
    decimal commas. If the cell is still ambiguous, reading the column raises an error.

    Args:
        columns: List of `Column`.
        count: Number of rows.

    Attributes:
        notes: Sentences that describe assumptions about the file.
    """

    def __init__(self, columns: Sequence[Column], count: int):
        self._columns, self._count = columns, count
        letters = [column.letters - {"\0"} for column in columns]
        self._is_plain = [used <= _PLAIN for used in letters]
        self._is_simple = [POINT not in used and used <= _PLAIN | {COMMA} for used in letters]
        self._marks = [POINT] * len(columns)
        self.notes = ()
        unusual = {i for i, used in enumerate(letters) if used & _DIGITS and not self._is_plain[i]}
        possible = [self._possible(i) if i in unusual else set() for i in range(len(columns))]
        if any(COMMA in marks for marks in possible):  # points may then separate thousands
            possible = [
                marks if i in unusual else self._possible(i) for i, marks in enumerate(possible)
            ]
        seen = {mark for marks in possible if len(marks) == 1 for mark in marks}
        for i, marks in enumerate(possible):
            if marks:
                self._marks[i] = self._decimal_mark(i, marks, seen)
        self.notes = self._notes(possible)

    def numbers(self, i: int) -> np.ndarray:
        """Returns the numbers of a column, float64.

        Raises:
            NotANumber: If a cell is not a number.
        """
        if self.is_boolean(i):
            cells = (text.strip().casefold() for text in self._columns[i])
            return np.fromiter((BOOLEANS.get(text, np.nan) for text in cells), np.float64)
        numbers, row = np.empty(self._count), 0
        for texts in self._columns[i].blocks():
            numbers[row : row + len(texts)] = self._block(i, texts, row)
            row += len(texts)
        return numbers

    def _block(self, i, texts, start):
        """Converts the cells `texts` of column `i` to numbers. `start` is the index of the first
        row."""
        mark = self._marks[i]
        points = texts if self._is_plain[i] and mark == POINT else None
        if mark == COMMA and self._is_simple[i]:
            points = [text.replace(COMMA, POINT) for text in texts]
        if points is not None:
            try:
                return np.array(points, np.float64)
            except ValueError:
                pass  # `_number` below raises an error that names the cell
        return [self._number(row, text, mark) for row, text in enumerate(texts, start)]

    def is_of_dates(self, i: int) -> bool:
        """Returns whether the first nonempty cell in a column is a date or a time."""
        first = next((text for text in self._columns[i] if not is_missing(text)), "")
        return bool(first) and not is_number(first) and not self.is_boolean(i)

    def is_boolean(self, i: int) -> bool:
        """Returns whether the nonempty cells in a column are the words true and false, in upper or
        lower case. `numbers` returns these words as 1 and 0."""
        if self._columns[i].letters & _DIGITS:
            return False
        present = (text.strip().casefold() for text in self._columns[i] if not is_missing(text))
        return next(present, None) in BOOLEANS and all(text in BOOLEANS for text in present)

    def is_text(self, i: int) -> bool:
        """Returns whether a column contains mostly text. In a column of text, fewer than half of
        the nonempty cells are numbers."""
        if not self._columns[i].letters & _DIGITS:
            return any(not is_missing(text) for text in self._columns[i])
        present = numbers = 0
        for texts in self._columns[i].blocks():
            texts = [text for text in texts if not is_missing(text)]
            present += len(texts)
            numbers += sum(map(is_number, texts))
        return bool(present) and 2 * numbers < present

    def _possible(self, i):
        """Returns the decimal marks that the numbers in a column may have, as a set. The set is
        empty if no cell contains a point or a comma."""
        if not self._columns[i].letters & {POINT, COMMA}:
            return set()
        counts, present, is_marked = dict.fromkeys(_FORMS, 0), 0, False
        for texts in self._columns[i].blocks():
            texts = [_usual(text) for text in texts if not is_missing(text)]
            present += len(texts)
            for mark, form in _FORMS.items():
                numbers = [text for text in texts if form.fullmatch(text)]
                counts[mark] += len(numbers)
                is_marked = is_marked or any(POINT in text or COMMA in text for text in numbers)
        most = max(counts.values())
        if 2 * most <= present or not is_marked:
            return set()
        return {mark for mark, count in counts.items() if count == most}

    def _decimal_mark(self, i, marks, seen):
        """Returns the decimal mark of a column, or None if the mark is ambiguous."""
        if len(marks) == 1:
            return next(iter(marks))
        if COMMA in self._columns[i].letters:
            return COMMA if seen == {COMMA} else None
        return None if COMMA in seen else POINT

    def _notes(self, possible):
        notes = dict.fromkeys((COMMAS, THOUSANDS, MINUS), False)
        for i, marks in enumerate(possible):
            mark, column = self._marks[i], self._columns[i]
            if self._is_plain[i] and mark == POINT or mark is None:
                continue
            if not marks and not any(map(_SPACED.fullmatch, column)):
                continue
            group = COMMA if mark == POINT else POINT
            notes[COMMAS] |= mark == COMMA and COMMA in column.letters
            notes[THOUSANDS] |= group in column.letters or any(
                _SPACED.fullmatch(text.strip()) for text in column
            )
            notes[MINUS] |= "\u2212" in column.letters
        return tuple(note for note, is_made in notes.items() if is_made)

    def _number(self, row, text, mark):
        if is_missing(text) and not _NOT_FINITE.fullmatch(text.strip()):
            return np.nan
        usual = _usual(text)
        if _NOT_FINITE.fullmatch(usual):
            return float(usual)
        if mark is None:
            raise NotANumber(
                row,
                "Its comma or point may separate decimals or thousands, and the other numbers of "
                "the column do not show which of the two it separates. Write decimals with a "
                "point.",
            )
        if not _FORMS[mark].fullmatch(usual):
            raise NotANumber(row, "Write decimals with a point." if is_number(text) else "")
        if mark == COMMA:
            return float(usual.replace(POINT, "").replace(COMMA, POINT))
        return float(usual.replace(COMMA, ""))


def _usual(text):
    """Removes spaces around a number, and separators between its thousands. Replaces the minus sign
    U+2212 by a hyphen."""
    text = text.strip().replace("\u2212", "-")
    is_spaced = " " in text or "'" in text or not text.isascii()
    if is_spaced and _SPACED.fullmatch(text):
        text = re.sub(f"[{_SPACES}]", "", text)
    return text


def seconds_of_dates(texts: Iterable[str]) -> tuple[np.ndarray | None, int | None]:
    """Converts dates or times of day to seconds since the first date or time.

    Valid formats are ISO 8601 dates, dates with the day or the month first, times with AM or PM,
    times of day without a date, and `minutes:seconds.fraction`. If a time of day is earlier than
    the time of day in the previous row, the function assumes that midnight has passed between the
    two rows.

    Args:
        texts: Dates or times, all in the same format. The function iterates over the texts twice.

    Returns:
        `(seconds, None)`, or `(None, row)` if a text cannot be read. `row` is the index of the
        first text that cannot be read, or 0 if the format is ambiguous.
    """
    moments, row = _iso(texts)
    if row is None:
        return moments, None
    form, dates, numbers, clock = None, {}, array.array("i"), array.array("d")
    for row, text in enumerate(texts):
        part = _parts(text.strip())
        if part is None or (form is not None and part[2:] != form):
            return None, row  # the format or the time zone differs from the first text
        form = part[2:]
        numbers.append(dates.setdefault(part[0], len(dates)))
        clock.append(part[1])
    clock = np.frombuffer(clock)
    if len(dates) == 1:
        has_date = "" not in dates
        midnights = 0 if has_date else np.cumsum(np.r_[0, np.diff(clock) < -DAY / 2])
        clock = clock + DAY * midnights
        return np.round(clock - clock[:1], 9), None
    readings = [days for days in (_days(dates, order) for order in _ORDERS) if days is not None]
    readings = [(days - days[0])[np.frombuffer(numbers, "i")] * DAY + clock for days in readings]
    smooth = [times for times in readings if (np.abs(np.diff(times)) < DAY).all()]
    readings = smooth or readings
    if len(readings) != 1:
        return None, 0
    return np.round(readings[0] - readings[0][:1], 9), None


def _iso(texts):
    start, moments = None, array.array("d")
    for row, text in enumerate(texts):
        try:
            moment = datetime.datetime.fromisoformat(text.strip())
            start = start or moment
            moments.append((moment - start).total_seconds())
        except (TypeError, ValueError):  # TypeError: only some texts have a time zone
            return None, row
    return np.array(moments), None


def _parts(text):
    """Splits a text into the date, the seconds since midnight, the time zone and the format.
    Returns None if the text is not a time."""
    zone = None
    if len(text) > LONGEST:
        return None
    if match := _ZONE.search(text):
        if match["zone"].upper() not in ("AM", "PM"):
            zone, text = match["zone"], text[: match.start()]
    text = text.strip()
    pieces = _BETWEEN.split(text, maxsplit=1)
    date, clock = pieces if len(pieces) == 2 else ("", text)
    if re.fullmatch(r"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}", clock):
        return None  # a date without a time of day
    match = _MINUTES.match(clock) if not date else None
    match = match or _CLOCK.match(clock)
    if match is None:
        return None
    groups = match.groupdict()
    half = groups.get("half")
    if groups["second"] is None and half is None:
        return None  # 12:00 may be hours and minutes, or minutes and seconds
    hour, minute, second = (int(groups.get(key) or 0) for key in ("hour", "minute", "second"))
    if minute > 59 or second > 60 or hour > (12 if half else 24) or (half and not hour):
        return None
    if half:
        hour = hour % 12 + 12 * (half in "Pp")
    fraction = groups.get("fraction") or ""
    is_count = fraction[:1] in (":", "_")  # digits after : or _ are a number of milliseconds
    if is_count and len(fraction) != 4:
        return None
    part = float(f"0.{fraction[1:] or 0}")
    form = (bool(date), bool(half), "hour" in groups, fraction[:1] if is_count else "")
    return date.strip(" ,"), 3600.0 * hour + 60 * minute + second + part, zone, form


def _days(dates, order):
    """Converts dates to numbers of days. Returns None if a date is invalid.

    Args:
        dates: Texts of dates.
        order: `"year first"`, `"day first"` or `"month first"`.
    """
    days = []
    for date in dates:
        match = (_YEAR_FIRST if order == "year first" else _YEAR_LAST).match(date)
        if match is None:
            return None
        if order == "year first":
            year, month, day = map(int, match.groups())
        else:
            first, mark, second, year = match[1], match[2], match[3], int(match[4])
            if mark == "." and order == "month first":
                return None
            day, month = (first, second) if order == "day first" else (second, first)
            day, month = int(day), int(month)
        try:
            days.append(datetime.date(year, month, day).toordinal())
        except ValueError:
            return None
    return np.array(days, float)
