"""Mutations of a valid file, from a fixed seed, and the two ends that a parser may come to."""

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
    """Gives (seed, mutated bytes), the same on every machine."""
    for seed in range(count):
        draw = random.Random(seed)
        yield seed, draw.choice(KINDS)(data, draw)


def ends_well(run, data, check):
    """Runs a parser on mutated bytes: it gives a result that passes `check`, or a FormatError.

    Args:
        run: Bytes to result.
        data: The mutated bytes.
        check: Result to None; asserts what the dataclass promises.

    Returns:
        Whether there was a result.
    """
    gc.disable()  # in a process with TensorFlow one collection takes longer than the bound
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
    """Gives the most memory that a parser holds at once."""
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
    """Runs all mutations; the seed of one that ends otherwise is in the error."""
    results = 0
    for seed, mutated in mutations(data, count):
        try:
            results += ends_well(run, mutated, check)
            if seed % 10 == 0:
                assert peak_bytes(run, mutated) < BYTES
        except Exception as error:
            raise AssertionError(f"mutation {seed}: {type(error).__name__}: {error}") from error
    assert 0 < results < count  # some mutations are harmless, and some are not
