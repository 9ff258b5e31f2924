"""Functions that recognize and convert the units of channels."""

import dataclasses
import re
from collections.abc import Sequence

import numpy as np

from keras_dml._messages import Message
from keras_dml.recordings._recording import Recording

STANDARD_GRAVITY = 9.80665  # m/s^2 (BIPM SI Brochure)
_DEGREE = np.pi / 180
_PREFIXES = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "c": 1e-2, "": 1.0, "k": 1e3}


def _prefixed(unit, prefixes, size=1.0):
    return {prefix + unit: size * _PREFIXES[prefix] for prefix in prefixes}


# Each dictionary maps the units of one quantity, in the spelling that `plain` returns, to their
# sizes.
QUANTITIES = (
    {
        **_prefixed("g", ("", "m", "u"), STANDARD_GRAVITY),
        **_prefixed("m/s^2", ("", "c", "m")),
    },
    {
        **_prefixed("rad/s", ("", "m")),
        **_prefixed("deg/s", ("", "m"), _DEGREE),
    },
    {"rad": 1.0, "mrad": 1e-3, "deg": _DEGREE},
    _prefixed("m", ("n", "u", "m", "c", "", "k")),
    _prefixed("v", ("n", "u", "m", "")),
    _prefixed("t", ("n", "u", "m", "")),
)
_SPELLINGS = (  # replaced in this order: longer spellings before their parts
    ("\u00e2", ""),  # of UTF-8 that was read as Latin-1
    ("\u207b\u00b9", "^-1"),
    ("\u207b\u00b2", "^-2"),
    ("\u00b2", "^2"),
    ("\u00b0", "deg"),
    ("\u00ba", "deg"),  # the ordinal indicator, which is on keyboards
    ("\u00b5", "u"),
    ("\u03bc", "u"),
    ("\u22c5", "*"),
    ("\u00b7", "*"),
    ("**", "^"),
    ("_", "/"),
)
_WORDS = {
    "m/s2": "m/s^2", "m/s/s": "m/s^2", "m/(s^2)": "m/s^2", "m*s^-2": "m/s^2", "ms^-2": "m/s^2",
    "meters/s^2": "m/s^2", "metres/s^2": "m/s^2", "m/sec^2": "m/s^2", "m/sec2": "m/s^2",
    "m/(sec^2)": "m/s^2", "cm/s2": "cm/s^2", "mm/s2": "mm/s^2",
    "g0": "g", "gs": "g", "g's": "g", "gn": "g", "gforce": "g", "g-force": "g",
    "milli-g": "mg", "millig": "mg",
    "dps": "deg/s", "mdps": "mdeg/s", "deg/sec": "deg/s", "degrees/s": "deg/s",
    "degrees/sec": "deg/s", "degree/s": "deg/s", "degrees/second": "deg/s", "deg*s^-1": "deg/s",
    "rad/sec": "rad/s", "rads/s": "rad/s", "radians/s": "rad/s", "radians/sec": "rad/s",
    "radians/second": "rad/s", "rad*s^-1": "rad/s", "rads^-1": "rad/s",
    "degrees": "deg", "degree": "deg", "radians": "rad", "radian": "rad",
    "meter": "m", "meters": "m", "metre": "m", "metres": "m",
    "volt": "v", "volts": "v", "millivolt": "mv", "millivolts": "mv", "microvolt": "uv",
    "microvolts": "uv", "uvolts": "uv", "mvolts": "mv", "tesla": "t", "microtesla": "ut",
}  # fmt: skip
_TIMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanos", "nanoseconds"), "ns"),
    **dict.fromkeys(("min", "mins", "minutes"), "min"),
    **dict.fromkeys(("h", "hours"), "h"),
}
_OTHER_UNITS = {"hz", "%", "bpm", "lux", "lx", "db", "hpa", "pa", "c", "f", "px", "k"}


def plain(unit: str) -> str:
    """Converts a unit to a standard spelling. For example, `m/s²`, `m/s2` and `m/s^2` give the same
    text."""
    text = unit.strip().strip("[]").casefold()
    for letters, spelled in _SPELLINGS:
        text = text.replace(letters, spelled)
    text = text.replace(" ", "")
    return _WORDS.get(text, text)


def is_unit(text: str) -> bool:
    """Returns whether a text is a known unit, with or without brackets."""
    unit = plain(unbracketed(text))
    return unit in {*_TIMES} | _OTHER_UNITS or any(unit in sizes for sizes in QUANTITIES)


def unbracketed(unit: str) -> str:
    """Removes brackets from a unit, and converts a unit of time to the standard spelling."""
    text = re.sub(r"^\((.*)\)$", r"\1", unit.strip().strip("[]"))
    text = plain(text) if re.search(r"[()\[\]]", text) else text
    return _TIMES.get(plain(text), text)


def factor(unit: str, wanted: str) -> float | None:
    """Returns the factor that converts values from one unit to another.

    The factor is 1 for two spellings of the same unit. The factor is None if a unit is unknown, or
    if the units measure different quantities.
    """
    unit, wanted = plain(unit), plain(wanted)
    if unit == wanted:
        return 1.0
    for sizes in QUANTITIES:
        if unit in sizes and wanted in sizes:
            return sizes[unit] / sizes[wanted]
    return None


def convert(recording: Recording, units: Sequence[str | None]) -> Recording:
    """Converts the channels of a recording to other units, such as the units that a model expects.

    The function converts accelerations, angular velocities (rad/s, deg/s), angles, lengths,
    voltages and magnetic fields. Accelerations in g and m/s^2 are converted by standard gravity,
    9.80665 m/s^2.

    Args:
        recording: `Recording` to convert.
        units: New unit of each channel, or None for a channel that does not change.

    Returns:
        `Recording` in the new units, with notes about the conversions. A channel does not change if
        the channel has no unit or a unit that cannot be converted. To find channels that were not
        converted, compare the units of the result with `units`.

    Raises:
        ValueError: If the number of entries of `units` differs from the number of channels.

    Example:
        >>> import pathlib
        >>> import numpy as np
        >>> values = np.ones((2, 1), np.float32)
        >>> walk = Recording(pathlib.Path("walk.csv"), values, ("x",), ("g",), 50)
        >>> convert(walk, ["m/s^2"]).values[0, 0].round(5), convert(walk, ["m/s^2"]).units
        (np.float32(9.80665), ('m/s^2',))
    """
    if len(units) != len(recording.units):
        raise ValueError(
            Message(
                "{units} has length {count}, but it must have one entry for each of the "
                "{expected} channels.",
                count=len(units),
                expected=len(recording.units),
            )
        )
    factors, names, notes = [], [], {}
    for unit, wanted in zip(recording.units, units, strict=True):
        size = None if unit is None or wanted is None else factor(unit, wanted)
        factors.append(1.0 if size is None else size)
        names.append(unit if size is None else wanted)
        if size not in (None, 1.0):
            notes[f"Channels in {unit} were multiplied by {size:.6g}, to get {wanted}."] = True
    if not notes and tuple(names) == recording.units:
        return recording
    values = (recording.values * np.array(factors)).astype(np.float32)
    return dataclasses.replace(
        recording,
        values=values if notes else recording.values,
        units=tuple(names),
        notes=(*recording.notes, *notes),
    )
