"""Warns of people whose recordings are all of one day, by the dates of the files."""

import datetime

from keras_dml.cli import _console

LEAST = 2  # recordings of a person


def earlier_dates(gallery, people):
    """Returns the dates on which recordings of people were enrolled so far, by person.

    Args:
        gallery: `Gallery`.
        people: Names of the people.
    """
    dates, counts = {}, gallery.people()
    for person in people:
        stored = gallery.list_recordings(person) if counts.get(person) else ()
        dates[person] = {datetime.datetime.fromisoformat(each.created).date() for each in stored}
    return dates


def of_one_day(paths, earlier, sessions=()):
    """Returns the day of all recordings of a person, or None if they may be of several days.

    Args:
        paths: Files that are enrolled now.
        earlier: Dates on which recordings of the person were enrolled before.
        sessions: Sessions of the files, as far as they are known.
    """
    if len(paths) < LEAST or len({*sessions}) > 1:
        return None
    dates = {datetime.date.fromtimestamp(path.stat().st_mtime) for path in paths}
    today = datetime.datetime.now(datetime.UTC).date()
    if len(dates) > 1 or earlier - {today}:
        return None
    return dates.pop()


def note(days, count):
    """Prints a note on people whose recordings are all of one day.

    Args:
        days: The day by person.
        count: Number of all people who were enrolled.
    """
    if not days:
        return
    person, day = next(iter(days.items()))
    more = "" if count == 1 else f" So are those of {len(days)} of {count} people in all."
    _console.note(
        _console.plain(
            f"Note: all recordings of {person!r} are of one day, {day}, by the dates of the files."
            f"{more} Recordings of a person differ more from one day to another: enroll some of "
            "other days too."
        )
    )
