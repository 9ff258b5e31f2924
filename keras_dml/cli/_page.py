"""The page that `keras-dml reproduce` leaves beside its tables and pictures."""

import time

NAME = "report.html"


def meaning(scale):
    """Sentences on what figures of a scale are worth."""
    if scale == "smoke":
        return ["The smoke scale shows that it runs; its figures mean nothing."]
    return []


def write(out, title, lead, sections, described, command, start, **facts):
    """Writes `report.html` of what lies in a folder.

    Args:
        out: The folder.
        title: Title of the page.
        lead: Paragraphs below it.
        sections: `keras_dml.reports.Section`s, in order.
        described: What the files of the folder show, by name; the SVG beside each PNG is shown.
        command: The command, which can be typed again.
        start: `time.monotonic()` at the start of the command.
        **facts: Further facts on how it was run, by name.
    """
    from keras_dml import reports
    from keras_dml.training import versions

    drawn = {name: text for name, text in described.items() if name.endswith(".png")}
    pictures = [
        reports.Picture((out / name).with_suffix(".svg"), text) for name, text in drawn.items()
    ]
    minutes = (time.monotonic() - start) / 60
    facts = {
        "command": command,
        **facts,
        "time": f"{minutes:.1f} minutes, without the runs that were finished before",
        "versions": ", ".join(f"{name} {number}" for name, number in versions().items()),
    }
    return reports.write_page(
        out / NAME, title, lead=lead, sections=sections, pictures=pictures, facts=facts
    )
