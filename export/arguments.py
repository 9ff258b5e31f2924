"""Arguments that both scripts take."""

import argparse
import pathlib


def parser(description):
    """A parser of the arguments that both scripts take.

    Args:
        description: What the script does; its first line heads the help.
    """
    command = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument(
        "models", nargs="*", metavar="MODEL", help="zoo models; all when none is named"
    )
    command.add_argument(
        "--out",
        type=pathlib.Path,
        default=pathlib.Path("build", "export"),
        help="folder for the files (default: %(default)s)",
    )
    command.add_argument(
        "--cards", action="store_true", help="write the figures into the models' cards as well"
    )
    return command
