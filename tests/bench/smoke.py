"""Adds the option `--smoke` to the benchmarks. With this option, a script runs completely within
seconds.

A smoke run uses small sizes, so its figures have no meaning. `tests/test_bench.py` runs each script
with `--smoke`. If a library or recordings are missing, a script prints a message and ends with the
status `SKIPPED`.
"""

import sys

SKIPPED = 77  # exit status of tests that cannot run, as in GNU Automake
HELP = "run on small sizes within seconds, to test the script; the figures have no meaning"


def parse(options, constants, sizes):
    """Parses the command line. With `--smoke`, constants and options get small sizes.

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
        reason: Text that names the missing library or data, and how to get it.
    """
    print(reason, file=sys.stderr)
    raise SystemExit(SKIPPED)
