"""Reads the days of recordings from the dates of files, and notes people recorded on one day."""

import datetime

from keras_dml.cli import _console

LEAST = 2  # smallest number of recordings of a person for which the note is printed


def labels(paths, sessions):
    """Returns the day of each file: its session if it has one, or else the date of the file.

    Args:
        paths: Files that are being enrolled.
        sessions: Session of each file, `{path: session}`. A session may be None.
    """
    return [
        sessions.get(path) or datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()
        for path in paths
    ]


def earlier_dates(gallery, people):
    """Returns a dict from each person to the set of dates of the person's earlier enrollments.

    Args:
        gallery: The open `Gallery`.
        people: Names of the people.
    """
    dates, counts = {}, gallery.people()
    for person in people:
        stored = gallery.list_recordings(person) if counts.get(person) else ()
        dates[person] = {datetime.datetime.fromisoformat(each.created).date() for each in stored}
    return dates


def single_day(paths, earlier, sessions=()):
    """Returns the day on which all recordings of a person were made.

    The function returns None if the recordings may be from several days.

    Args:
        paths: Files that are being enrolled.
        earlier: Dates on which recordings of the person were enrolled before.
        sessions: Session of each file. Empty if unknown.
    """
    if len(paths) < LEAST or len({*sessions}) > 1:
        return None
    dates = {datetime.date.fromtimestamp(path.stat().st_mtime) for path in paths}
    today = datetime.datetime.now(datetime.UTC).date()
    if len(dates) > 1 or earlier - {today}:
        return None
    return dates.pop()


def print_note(days, count):
    """Prints a note if all recordings of a person were made on one day.

    Args:
        days: Dictionary `{person: day}` of the people who were recorded on only one day.
        count: Number of people who were enrolled, including people with recordings of several days.
    """
    if not days:
        return
    person, day = next(iter(days.items()))
    more = "" if count == 1 else f" This applies to {len(days)} of {count} people."
    _console.note(
        _console.escape(
            f"Note: according to the dates of the files, all recordings of {person!r} were made on "
            f"one day ({day}).{more} Recordings of a person differ more between days than within a "
            "day. Enroll recordings from other days too."
        )
    )
