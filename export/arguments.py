"""Command-line arguments that the export scripts share."""

import argparse
import pathlib


def parser(description: str, has_cards: bool = True) -> argparse.ArgumentParser:
    """Returns a parser of the shared arguments.

    Args:
        description: Description of the script. The help text begins with the first line of the
            description.
        has_cards: Whether the script can write its figures into the models' cards.
    """
    command = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument(
        "models", nargs="*", metavar="MODEL", help="zoo models (default: all models)"
    )
    command.add_argument(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path("build", "export"),
        help="folder for the files (default: %(default)s)",
    )
    if has_cards:
        command.add_argument(
            "--cards", action="store_true", help="write the figures into the models' cards as well"
        )
    return command
