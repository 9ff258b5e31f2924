"""Dates and times of day in the cells of a text table, as seconds."""

import array
import datetime
import re

import numpy as np

DAY = 86_400.0
LONGEST = 64  # letters of a date; patterns take long over long texts
_CLOCK = re.compile(
    r"(?P<hour>[0-9]{1,2})(?:(?P<mark>[:.\-h])(?P<minute>[0-9]{1,2})"
    r"(?:[:.\-m](?P<second>[0-9]{1,2})s?(?P<fraction>[.,:_][0-9]{1,9})?)?)?"
    r"(?:\s*(?P<half>[AaPp])\.?\s?[Mm]\.?)?$"
)
_MINUTES = re.compile(r"(?P<minute>[0-9]{1,2}):(?P<second>[0-9]{1,2})(?P<fraction>[.,][0-9]{1,9})$")
_ZONE = re.compile(
    r"\s*(?P<zone>Z|(?:UTC|GMT)?[+-][0-9]{2}:?(?:[0-9]{2})?|[A-Z]{3,5}|\(?UTC\)?|\[[\w/]+\])$"
)
_BETWEEN = re.compile(  # a date and a time of day
    r"[T\s,_]+(?=[0-9]{1,2}[:.\-h][0-9]{1,2}|[0-9]{1,2}\s?[AaPp]\.?[Mm])"
)
_YEAR_FIRST = re.compile(r"([0-9]{4})[-/.]?([0-9]{1,2})[-/.]?([0-9]{1,2})$")
_YEAR_LAST = re.compile(r"([0-9]{1,2})([-/.])([0-9]{1,2})\2([0-9]{4})$")


def seconds(texts):
    """Seconds from the first of dates and times.

    Read are dates of ISO 8601, days before months or after them, times with AM or PM, times of day
    alone, and `minutes:seconds.fraction`. Times of day that fall pass midnight.

    Args:
        texts: The dates, each in the same form. They are iterated over twice.

    Returns:
        `(seconds, row)`: the seconds, and None; or None and the first row that is not read. It is
        the first row if the form has two readings.
    """
    moments, row = _iso(texts)
    if row is None:
        return moments, None
    form, dates, numbers, clock = None, {}, array.array("i"), array.array("d")
    for row, text in enumerate(texts):
        part = _parts(text.strip())
        if part is None or (form is not None and part[2:] != form):
            return None, row  # of another form or time zone than the first
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
        except (TypeError, ValueError):  # TypeError: with a time zone or without
            return None, row
    return np.array(moments), None


def _parts(text):
    """The date, the seconds of the day, the time zone, and the form of a time; None if invalid."""
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
        return None  # a date alone
    match = _MINUTES.match(clock) if not date else None
    match = match or _CLOCK.match(clock)
    if match is None:
        return None
    groups = match.groupdict()
    half = groups.get("half")
    if groups["second"] is None and half is None:
        return None  # 12:00 may be minutes and seconds
    hour, minute, second = (int(groups.get(key) or 0) for key in ("hour", "minute", "second"))
    if minute > 59 or second > 60 or hour > (12 if half else 24) or (half and not hour):
        return None
    if half:
        hour = hour % 12 + 12 * (half in "Pp")
    fraction = groups.get("fraction") or ""
    is_count = fraction[:1] in (":", "_")  # of milliseconds
    if is_count and len(fraction) != 4:
        return None
    part = float(f"0.{fraction[1:] or 0}")
    form = (bool(date), bool(half), "hour" in groups, fraction[:1] if is_count else "")
    return date.strip(" ,"), 3600.0 * hour + 60 * minute + second + part, zone, form


_ORDERS = ("year first", "day first", "month first")


def _days(dates, order):
    """Days of dates in an order of year, month and day; None if one is invalid in it."""
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
