"""Mutates valid files and checks that a parser returns a valid result or raises a FormatError."""

import gc
import random
import re
import time
import tracemalloc

from tfds_builders.common.errors import FormatError

SECONDS, BYTES = 0.05, 16 << 20
NUMBERS = (b"nan", b"inf", b"-inf", b"1e308", b"", b"-1", b"9223372036854775808", b"1_0", b"0x1F")


def _flip(data, draw):
    at = draw.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << draw.randrange(8))]) + data[at + 1 :]


def _cut(data, draw):
    return data[: draw.randrange(len(data))]


def _lines(data, draw):
    lines = data.split(b"\n")
    a, b = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(3)
    if kind == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif kind == 1:
        lines.insert(a, lines[b])
    else:
        del lines[a]
    return b"\n".join(lines)


def _number(data, draw):
    places = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?(e[+-]\d+)?", data)]
    start, end = draw.choice(places)
    return data[:start] + draw.choice(NUMBERS) + data[end:]


def _header(data, draw):
    places = [match.span() for match in re.finditer(rb"\b\d+\b", data[:200])]
    if not places:
        return _number(data, draw)
    start, end = draw.choice(places)
    return data[:start] + str(int(data[start:end]) * 1_000_000).encode() + data[end:]


def _encode(data, draw):
    at = draw.randrange(len(data))
    return draw.choice(
        [
            data.replace(b"\n", b"\r\n"),
            b"\xef\xbb\xbf" + data,
            data[:at] + b"\0" + data[at:],
            data.decode("latin-1").encode("utf-16"),
        ]
    )


KINDS = (_flip, _flip, _cut, _lines, _lines, _number, _number, _header, _encode)


def mutations(data, count=1000):
    """Yields pairs (seed, mutated bytes), which are the same on every machine."""
    for seed in range(count):
        draw = random.Random(seed)
        yield seed, draw.choice(KINDS)(data, draw)


def ends_well(run, data, check):
    """Checks that a parser returns a valid result for mutated bytes or raises a FormatError.

    Args:
        run: Parser, a function from bytes to a result.
        data: Mutated bytes.
        check: Function that takes a result and asserts that the result is valid.

    Returns:
        True if the parser returned a result, False if it raised a FormatError.

    Raises:
        AssertionError: If the parser takes too long, or its error message has characters that
            cannot be printed, or `check` fails.
    """
    gc.disable()  # With TensorFlow loaded, one collection takes longer than SECONDS.
    start = time.thread_time()
    try:
        result = run(data)
    except FormatError as error:
        assert str(error).isprintable()
        result = None
    finally:
        seconds = time.thread_time() - start
        gc.enable()
    assert seconds < SECONDS
    if result is None:
        return False
    check(result)
    return True


def peak_bytes(run, data):
    """Returns the largest number of bytes that a parser holds at one time."""
    tracemalloc.start()
    try:
        run(data)
    except FormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def check_parser(run, data, check, count=1000):
    """Runs a parser on `count` mutations of `data` with `ends_well`.

    If a mutation fails, the message of the AssertionError has the seed of this mutation.
    """
    results = 0
    for seed, mutated in mutations(data, count):
        try:
            results += ends_well(run, mutated, check)
            if seed % 10 == 0:
                assert peak_bytes(run, mutated) < BYTES
        except Exception as error:
            raise AssertionError(f"mutation {seed}: {type(error).__name__}: {error}") from error
    assert 0 < results < count  # the parser accepts some mutations and refuses others
