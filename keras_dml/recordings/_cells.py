"""Numbers in the cells of a text table, with decimal points or decimal commas."""

import itertools
import re

import numpy as np

MISSING = {"", ".", "-", "--", "nan", "na", "n/a", "#n/a", "null", "none"}  # in lower case
POINT, COMMA = ".", ","
COMMAS = "Decimal commas were read as decimal points."
THOUSANDS = "Separators of thousands were left out of numbers."
MINUS = "The character U+2212 was read as a minus sign."
_DIGITS = set("0123456789")
_PLAIN = _DIGITS | set("+-.eE ")  # float() reads these as written; it reads "1_0" as 10 too


def _form(mark, group):
    """The form of a number with a decimal mark and, in groups of three digits, another mark."""
    whole = rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+)"
    return re.compile(
        rf"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII
    )


_FORMS = {POINT: _form(r"\.", ","), COMMA: _form(",", r"\.")}
_SPACES = " '\u2019\u00a0\u2009\u202f"  # separators of thousands in French, Swedish and Swiss text
_SPACED = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:[{_SPACES}][0-9]{{3}})+(?:[.,][0-9]*)?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf)", re.IGNORECASE)
_DATE = re.compile(
    r"[0-9]:[0-9]{2}|[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}|[0-9]T[0-9]{2}"
    r"|^[0-9]{1,2} ?[AaPp]\.?[Mm]"
)


class NotANumber(ValueError):
    """A cell that is not a number.

    Attributes:
        row: Row of the cell.
    """

    def __init__(self, row, reason):
        super().__init__(reason)
        self.row = row


def is_missing(text):
    """Returns whether a cell stands for a missing number."""
    return text.strip().casefold() in MISSING


def is_number(text):
    """Returns whether a cell is a finite number, with a decimal point or a decimal comma."""
    text = _usual(text)
    return any(form.fullmatch(text) for form in _FORMS.values())


def is_date(text):
    """Returns whether a cell looks like a date or a time of day."""
    return _DATE.search(text.strip()) is not None


class Column:
    """Cells of a column, packed as text of one piece for each block of rows.

    A list of a million short texts takes 60 MB, a million packed cells 4 MB.

    Attributes:
        letters: Set of all letters in the cells.
    """

    def __init__(self):
        self._blocks = []
        self.letters = set()

    def extend(self, texts):
        """Adds the cells of one or more rows at the end."""
        joined = "\0".join(texts)  # text files with zero bytes are refused
        self.letters.update(joined)
        self._blocks.append(joined.encode())

    def is_blank(self):
        """Returns whether no cell has content."""
        return not "".join(self.letters - {"\0"}).strip()

    def insert_first(self, text):
        """Adds a cell in front of the others."""
        self.letters.update(text)
        self._blocks.insert(0, text.encode())

    def blocks(self):
        """Returns an iterator of the cells, a list for each block of rows."""
        return (block.decode().split("\0") for block in self._blocks)

    def __iter__(self):
        return itertools.chain.from_iterable(self.blocks())

    def cell(self, row):
        """Returns the cell of a row."""
        return next(itertools.islice(self, row, None))


class Columns:
    """Columns of cells. Each column has one decimal mark.

    A cell such as `1,234` may be 1.234 or 1234. The other cells of its column decide, then the
    decimal commas of other columns; without them the column is refused.

    Args:
        columns: `Column`s.
        count: Number of rows.

    Attributes:
        notes: Sentences that say what was assumed.
    """

    def __init__(self, columns, count):
        self._columns, self._count = columns, count
        letters = [column.letters - {"\0"} for column in columns]
        self._is_plain = [used <= _PLAIN for used in letters]
        self._is_simple = [POINT not in used and used <= _PLAIN | {COMMA} for used in letters]
        self._marks = [POINT] * len(columns)
        self.notes = ()
        unusual = {i for i, used in enumerate(letters) if used & _DIGITS and not self._is_plain[i]}
        possible = [self._possible(i) if i in unusual else set() for i in range(len(columns))]
        if any(COMMA in marks for marks in possible):  # then points may separate thousands
            possible = [
                marks if i in unusual else self._possible(i) for i, marks in enumerate(possible)
            ]
        seen = {mark for marks in possible if len(marks) == 1 for mark in marks}
        for i, marks in enumerate(possible):
            if marks:
                self._marks[i] = self._decided(i, marks, seen)
        self.notes = self._assumed(possible)

    def numbers(self, i):
        """The numbers of a column, float64.

        Raises:
            NotANumber: If a cell is not a number.
        """
        numbers, row = np.empty(self._count), 0
        for texts in self._columns[i].blocks():
            numbers[row : row + len(texts)] = self._block(i, texts, row)
            row += len(texts)
        return numbers

    def _block(self, i, texts, start):
        """The numbers of some cells of a column, of which the first is in the row `start`."""
        mark = self._marks[i]
        points = texts if self._is_plain[i] and mark == POINT else None
        if mark == COMMA and self._is_simple[i]:
            points = [text.replace(COMMA, POINT) for text in texts]
        if points is not None:
            try:
                return np.array(points, np.float64)
            except ValueError:
                pass  # the cell is looked for below
        return [self._number(row, text, mark) for row, text in enumerate(texts, start)]

    def is_of_dates(self, i):
        """Returns whether the first cell with content in a column is a date or a time."""
        first = next((text for text in self._columns[i] if not is_missing(text)), "")
        return bool(first) and not is_number(first)

    def is_text(self, i):
        """Returns whether fewer than half of the cells with content in a column are numbers."""
        if not self._columns[i].letters & _DIGITS:
            return any(not is_missing(text) for text in self._columns[i])
        present = numbers = 0
        for texts in self._columns[i].blocks():
            texts = [text for text in texts if not is_missing(text)]
            present += len(texts)
            numbers += sum(map(is_number, texts))
        return bool(present) and 2 * numbers < present

    def _possible(self, i):
        """Decimal marks that the cells of a column may have; none if it has no marks."""
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

    def _decided(self, i, marks, seen):
        """The decimal mark of a column; None if there are two readings."""
        if len(marks) == 1:
            return next(iter(marks))
        if COMMA in self._columns[i].letters:
            return COMMA if seen == {COMMA} else None
        return None if COMMA in seen else POINT

    def _assumed(self, possible):
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
                "It may have a decimal comma or a separator of thousands, and no other number of "
                "its column decides. Write decimals with a point.",
            )
        if not _FORMS[mark].fullmatch(usual):
            is_mixed = is_number(text)
            raise NotANumber(
                row,
                "Write decimals with a point."
                if is_mixed
                else "Name the columns that are channels.",
            )
        if mark == COMMA:
            return float(usual.replace(POINT, "").replace(COMMA, POINT))
        return float(usual.replace(COMMA, ""))


def _usual(text):
    """A number without spaces around it and between thousands, with an ASCII minus sign."""
    text = text.strip().replace("\u2212", "-")
    is_spaced = " " in text or "'" in text or not text.isascii()
    if is_spaced and _SPACED.fullmatch(text):
        text = re.sub(f"[{_SPACES}]", "", text)
    return text
