"""Runs of a search for settings; each result is written as a line of JSON when its run ends."""

import json
import sys

import typer


def check(options):
    """Checks the values of options.

    Args:
        given: `{name of the option: (values or None, all valid values)}`.

    Raises:
        typer.BadParameter: If a value is invalid.
    """
    for option, (values, choices) in options.items():
        if unknown := [value for value in values or () if value not in choices]:
            raise typer.BadParameter(f"--{option} {unknown[0]!r} must be one of {list(choices)}.")


def completed(file, wanted, run):
    """Runs what is missing in a file, and returns all runs of the file.

    Args:
        file: Path of the runs; a last line that a killed search left half written is dropped.
        wanted: Dicts of what tells a run from others, all of the same keys.
        run: Function of such a dict that gives what was found, a dict.

    Returns:
        Dicts of the runs: what was wanted and what was found.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    lines = [json.loads(line) for line in whole.splitlines()]
    missing = [
        key_values
        for key_values in wanted
        if key_values not in [{key: line[key] for key in key_values} for line in lines]
    ]
    for number, key_values in enumerate(missing, start=1):
        print(f"run {number} of {len(missing)}: {key_values}", file=sys.stderr, flush=True)
        lines.append({**key_values, **run(key_values)})
        with file.open("a", encoding="utf-8") as appended:
            appended.write(json.dumps(lines[-1]) + "\n")
    return lines
