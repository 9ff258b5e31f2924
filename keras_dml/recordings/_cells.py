"""Numbers in the cells of a text table, with decimal points or decimal commas."""

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


class Columns:
    """Columns of cells. Each column has one decimal mark.

    A cell such as `1,234` may be 1.234 or 1234. The other cells of its column decide, then the
    decimal commas of other columns; without them the column is refused.

    Args:
        columns: Cells of each column.

    Attributes:
        notes: Sentences that say what was assumed.
    """

    def __init__(self, columns):
        self._columns = columns
        letters = [set("".join(texts)) for texts in columns]
        self._is_plain = [used <= _PLAIN for used in letters]
        self._is_simple = [POINT not in used and used <= _PLAIN | {COMMA} for used in letters]
        self._marks = [POINT] * len(columns)
        self.notes = ()
        unusual = [i for i, used in enumerate(letters) if used & _DIGITS and not self._is_plain[i]]
        possible = [self._possible(i) if i in unusual else set() for i in range(len(columns))]
        if any(COMMA in marks for marks in possible):  # then points may separate thousands
            possible = [self._possible(i) for i in range(len(columns))]
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
        texts, mark = self._columns[i], self._marks[i]
        points = texts if self._is_plain[i] and mark == POINT else None
        if mark == COMMA and self._is_simple[i]:
            points = [text.replace(COMMA, POINT) for text in texts]
        if points is not None:
            try:
                return np.array(points, np.float64)
            except ValueError:
                pass  # the cell is looked for below
        return np.array([self._number(row, text, mark) for row, text in enumerate(texts)])

    def is_of_dates(self, i):
        """Returns whether the first cell with content in a column is a date or a time."""
        first = next((text for text in self._columns[i] if not is_missing(text)), "")
        return bool(first) and not is_number(first)

    def is_text(self, i):
        """Returns whether fewer than half of the cells with content in a column are numbers."""
        texts = [text for text in self._columns[i] if not is_missing(text)]
        return bool(texts) and 2 * sum(map(is_number, texts)) < len(texts)

    def _possible(self, i):
        """Decimal marks that the cells of a column may have; none if it has no marks."""
        texts = [_usual(text) for text in self._columns[i] if not is_missing(text)]
        counts = {mark: sum(map(bool, map(form.fullmatch, texts))) for mark, form in _FORMS.items()}
        most = max(counts.values())
        marked = [text for text in texts if POINT in text or COMMA in text]
        if 2 * most <= len(texts) or not any(map(is_number, marked)):
            return set()
        return {mark for mark, count in counts.items() if count == most}

    def _decided(self, i, marks, seen):
        """The decimal mark of a column; None if there are two readings."""
        if len(marks) == 1:
            return next(iter(marks))
        if any(COMMA in text for text in self._columns[i]):
            return COMMA if seen == {COMMA} else None
        return None if COMMA in seen else POINT

    def _assumed(self, possible):
        notes = dict.fromkeys((COMMAS, THOUSANDS, MINUS), False)
        for i, marks in enumerate(possible):
            mark, texts = self._marks[i], self._columns[i]
            is_numeric = bool(marks) or any(map(_SPACED.fullmatch, texts))
            if self._is_plain[i] and mark == POINT or not is_numeric or mark is None:
                continue
            group = COMMA if mark == POINT else POINT
            for text in texts:
                notes[COMMAS] |= mark == COMMA and COMMA in text
                notes[THOUSANDS] |= group in text or bool(_SPACED.fullmatch(text.strip()))
                notes[MINUS] |= "\u2212" in text
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
