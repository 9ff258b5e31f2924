"""Smoke runs: every script takes `--smoke`, which runs all of it on sizes that take seconds.

The figures of a smoke run mean nothing. `tests/test_bench.py` runs each script so. A script that
lacks another library or recordings says so and ends with the status `SKIPPED`.
"""

import sys

SKIPPED = 77  # exit status of a test that cannot run here, as GNU Automake has it
HELP = "sizes of seconds, to see whether the script runs; its figures mean nothing"


def parse(options, constants, sizes):
    """Parses the command line; with `--smoke`, sets constants and options to small sizes.

    Args:
        options: `argparse.ArgumentParser` without `--smoke`.
        constants: `globals()` of the script.
        sizes: Dict from the name of a constant or an option to its size in a smoke run.

    Returns:
        The parsed options.
    """
    options.add_argument("--smoke", action="store_true", help=HELP)
    arguments = options.parse_args()
    if arguments.smoke:
        for name, size in sizes.items():
            if name in constants:
                constants[name] = size
            else:
                setattr(arguments, name, size)
    return arguments


def skip(reason):
    """Ends the script because something is missing.

    Args:
        reason: The missing library or data and how to get it.
    """
    print(reason, file=sys.stderr)
    raise SystemExit(SKIPPED)
