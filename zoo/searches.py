"""Runs a search for settings and writes the result of each run as a line of JSON."""

import json
import sys

import typer


def check(options):
    """Checks that the values of options are valid.

    Args:
        options: Dictionary `{name of the option: (values or None, all valid values)}`.

    Raises:
        typer.BadParameter: If a value is invalid.
    """
    for option, (values, choices) in options.items():
        if unknown := [value for value in values or () if value not in choices]:
            raise typer.BadParameter(
                f"Received --{option} {unknown[0]!r}. The value must be one of {list(choices)}."
            )


def completed(file, wanted, run):
    """Runs all settings that have no result in a file yet, and returns all results in the file.

    Args:
        file: Path of the file of results. An incomplete last line of a stopped search is removed.
        wanted: Settings of the runs, dictionaries with the same keys.
        run: Function that takes the settings of a run and returns its result, a dictionary.

    Returns:
        A dictionary for each run, which contains its settings and its result.
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
