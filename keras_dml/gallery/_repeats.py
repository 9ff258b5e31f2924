"""Finds recordings that a gallery already has, by comparing embeddings."""

import warnings

from keras_dml._contents import alike, repeats


def compared(person, embeddings, known):
    """Compares recordings that are to be enrolled with each other and with those of a gallery.

    Args:
        person: Name of the person.
        embeddings: Shape `(count, ...)`.
        known: `Templates` of the gallery.

    Returns:
        `(repeated, reasons)`: for each row that repeats a recording, the earlier row, or None if
        the recording is enrolled as the person already; and for each row that must not be
        enrolled, the reason.
    """
    repeated, reasons = repeats(embeddings), {}
    for row, matches in enumerate(known.same_as(embeddings)):
        enrolled = known.enrolled[matches]
        owners = dict.fromkeys(known.people[matches[enrolled]])
        if person in owners:
            repeated[row] = None
        elif owners:
            repeated.pop(row, None)
            reasons[row] = (
                f"the same recording is enrolled as {next(iter(owners))!r} and cannot be enrolled "
                f"as {person!r} too: if it belongs to {person!r}, remove it there first, by "
                "`Gallery.forget`"
            )
        elif person in known.people[matches[~enrolled]]:
            repeated.pop(row, None)
            reasons[row] = f"the same recording was marked as not {person!r}'s"
    return repeated, reasons


def warn_of_repeats(repeated, count):
    """Emits a `UserWarning` if recordings are repeated, because each counts once.

    Args:
        repeated: Number of repeated recordings.
        count: Number of all recordings given.
    """
    if repeated:
        warnings.warn(
            f"{repeated} of these {count} recordings were given twice or are enrolled already: "
            "each counts once.",
            stacklevel=3,
        )


def rows_to_mark(person, embeddings, known):
    """Rows of the recordings that are not marked as not a person's yet.

    Args:
        person: Name of the person.
        embeddings: Shape `(count, ...)`.
        known: `Templates` of the person.

    Raises:
        ValueError: If a recording is enrolled as the person's.
    """
    repeated = repeats(embeddings)
    rows = []
    for row, matches in enumerate(known.same_as(embeddings)):
        if known.enrolled[matches].any():
            raise ValueError(
                f"Recording {row} is enrolled as {person!r} and cannot be marked as not theirs. "
                "Take it out by `Gallery.forget` first, or leave it out."
            )
        if row not in repeated and not len(matches):
            rows.append(row)
    return rows


def rows_to_merge(place, people, enrolled, embeddings, known):
    """Rows of the templates of another gallery that a gallery does not have yet.

    Args:
        place: Path of the other gallery, for errors.
        people: Person of each template.
        enrolled: Whether each is the person's own.
        embeddings: Shape `(count, ...)`.
        known: `Templates` of this gallery.

    Raises:
        ValueError: If a recording is enrolled as two people, or is enrolled as a person and marked
            as not theirs.
    """
    within, here = alike(embeddings, embeddings), known.same_as(embeddings)
    new = []
    for row, (earlier, present) in enumerate(zip(within, here, strict=True)):
        person, is_enrolled = people[row], bool(enrolled[row])
        matches = [(people[i], bool(enrolled[i])) for i in earlier if i < row]
        matches += [(known.people[i], bool(known.enrolled[i])) for i in present]
        for name, match_is_enrolled in matches:
            if name != person and is_enrolled and match_is_enrolled:
                raise ValueError(
                    f"{place} cannot be merged: one recording is enrolled as {name!r} and as "
                    f"{person!r}. Take it out of one of them by `Gallery.forget`, or remove one "
                    "of them; if they are one person, enroll them under one name."
                )
            if name == person and is_enrolled != match_is_enrolled:
                raise ValueError(
                    f"{place} cannot be merged: one recording is enrolled as {person!r} and marked "
                    "as not theirs. Take it out by `Gallery.forget`, or remove the person, in one "
                    "of the two galleries."
                )
        if (person, is_enrolled) not in matches:
            new.append(row)
    return new
