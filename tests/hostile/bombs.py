"""Files that need much memory or time for their size, such as decompression bombs.

`python -m tests.hostile.bombs` reads a file of 20 MB of each kind in a separate process, and prints
the memory and the processor time of the process.
"""

import gzip
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np

SIZE = 20_000_000  # bytes, the largest upload of the server
MOST_MB, MOST_SECONDS = 500, 20  # largest memory and time to read a file
LONGEST = 100  # seconds after which a process is killed
SUFFIX = {"flac": ".flac", "gzip": ".csv.gz", "npy": ".npy", "parquet": ".parquet", "wav": ".wav"}


def _lines(line, size, head=b""):
    return head + line * max(1, (size - len(head)) // len(line))


def _packed(data, size):
    """Returns a text of `4 * size` bytes, compressed with gzip."""
    return gzip.compress(_lines(data, 4 * size), 6, mtime=0)


def _signal(size):
    """Returns rows of acceleration in the format of a data logger."""
    rng = np.random.default_rng(1)
    lines = [
        f"{i / 100:.3f},{row[0]:.6f},{row[1]:.6f},{row[2]:.6f}\n"
        for i, row in enumerate(rng.normal(size=(1000, 3)))
    ]
    rest = "".join(line.partition(",")[2] for line in lines).splitlines(keepends=True)
    out, length, i = ["time,x,y,z\n"], 0, 0
    while length < size - 100:
        line = f"{i / 100:.2f},{rest[i % 1000]}"
        out.append(line)
        length += len(line)
        i += 1
    return "".join(out).encode()


def _dates(size):
    import datetime

    start, out, length, i = datetime.datetime(2026, 1, 31), ["date,x,y\n"], 0, 0
    while length < size - 100:
        moment = start + datetime.timedelta(milliseconds=20 * i)
        line = f"{moment.isoformat(timespec='milliseconds')},{i % 7}.25,-{i % 5}.5\n"
        out.append(line)
        length += len(line)
        i += 1
    return "".join(out).encode()


def _counted(size, step):
    """Returns rows with uneven times. Every second time step is longer."""
    count = size // 12
    times = np.cumsum(np.where(np.arange(count) % 2, 1.0, step)).round(1)
    return ("time_ms,x\n" + "".join(f"{time},{i % 7}\n" for i, time in enumerate(times))).encode()


def _table(count, size):
    """Returns a csv file with many columns."""
    names = ",".join(f"c{i}" for i in range(count)).encode() + b"\n"
    return _lines(b",".join([b"1"] * count) + b"\n", size, names)


def _parquet(columns, **options):
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out, **options)
    return out.getvalue()


def _row_groups(rows, groups, **options):
    """Returns a Parquet file with many equal row groups of constant columns."""
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    column = pyarrow.array(np.zeros(rows, np.float64))
    table = pyarrow.table({name: column for name in "xyz"})
    with parquet.ParquetWriter(out, table.schema, **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=rows)
    return out.getvalue()


def _varint(number):
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _footer_of_20(rows):
    """Returns a Parquet file that contains more rows than the 20 rows in its footer.

    The number of rows is the third field of the footer (`FileMetaData.num_rows`).
    """
    import pyarrow
    from pyarrow import parquet

    data = _parquet({"x": np.zeros(rows)}, compression="snappy")
    length = struct.unpack("<I", data[-8:-4])[0]
    footer = data[-8 - length : -8]
    long, short = _varint(rows), _varint(20)
    first = footer.index(b"\x16" + long)  # the field after the schema
    footer = footer[: first + 1] + short + footer[first + 1 + len(long) :]
    data = data[: -8 - length] + footer + struct.pack("<I", len(footer)) + b"PAR1"
    assert parquet.read_metadata(pyarrow.BufferReader(data)).num_rows == 20
    return data


def _texts(size):
    import pyarrow

    texts = pyarrow.array(["x" * 100_000] * 20_000 if size >= SIZE else ["x" * 10_000] * 2_000)
    return _parquet({"x": np.arange(len(texts)) * 1.5, "label": texts})


def _lists(size):
    import pyarrow

    count = size * 2
    values = pyarrow.ListArray.from_arrays([0, count], np.zeros(count))
    return _parquet({"x": np.arange(1.0), "list": values})


def _many_columns(size):
    count = max(10, size // 200)
    return _parquet({f"c{i}": np.arange(2.0) for i in range(count)})


def _npy(header, data=b"", version=1):
    header = header.encode("latin-1")
    kind = "<H" if version == 1 else "<I"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(kind, len(header)) + header + data


def _npy_of(shape, descr, data=b""):
    return _npy(f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


def _wav(data, *, channels=1, rate=8000, bits=8, tag=1, size=None, before=b""):
    block = channels * bits // 8
    form = struct.pack("<HHIIHH", tag, channels, rate, rate * block, block, bits)
    size = len(data) if size is None else size
    chunks = b"fmt " + struct.pack("<I", 16) + form + before + b"data" + struct.pack("<I", size)
    return b"RIFF" + struct.pack("<I", len(chunks) + len(data) + 4) + b"WAVE" + chunks + data


def _flac(size):
    import soundfile

    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", 8000, 1, "PCM_16", format="FLAC") as file:
        for _ in range(max(1, size * 10 // 10**6)):
            file.write(np.zeros(10**6, np.int16))
    return out.getvalue()


def _noise(size):
    return np.random.default_rng(1).integers(0, 256, size, np.uint8).tobytes()


# `{(kind, name): function}`. A function takes a size in bytes and returns the bytes of a file.
FILES = {
    ("csv", "a recording of an accelerometer"): _signal,
    ("csv", "a recording with dates"): _dates,
    ("csv", "rows of 1"): lambda size: _lines(b"1\n", size, b"x\n"),
    ("csv", "rows of 1 without a name"): lambda size: _lines(b"1\n", size),
    ("csv", "rows of 1,2"): lambda size: _lines(b"1,2\n2,1\n", size, b"x,y\n"),
    ("csv", "rows of 1;2 with a decimal comma"): lambda size: _lines(b"1,5;2\n2;,5\n", size),
    ("csv", "rows of ,"): lambda size: _lines(b",\n", size, b"x,y\n1,2\n"),
    ("csv", "rows of quoted numbers"): lambda size: _lines(b'"1","2"\n', size, b"x,y\n"),
    ("csv", "rows of spaces"): lambda size: _lines(b" 1 2\n", size, b"x y\n"),
    ("csv", "rows of texts"): lambda size: _lines(b"1,a\n2,b\n", size, b"x,y\n"),
    ("csv", "rows of times of day"): lambda size: _lines(b"10:00:00,1\n", size, b"time,x\n"),
    ("csv", "empty lines"): lambda size: _lines(b"\n", size),
    ("csv", "lines of a letter"): lambda size: _lines(b"a\n", size),
    ("csv", "lines of two letters"): lambda size: _lines(b"a,b\n", size, b"x,y\n1,2\n"),
    ("csv", "comments"): lambda size: _lines(b"#\n", size, b"x\n1\n"),
    ("csv", "100,000 columns"): lambda size: _table(100_000, 900_000),
    ("csv", "1,000,000 columns"): lambda size: _table(1_000_000, size),
    ("csv", "5,000 columns"): lambda size: _table(5_000, size),
    ("csv", "one line of numbers"): lambda size: _lines(b"1,", size),
    ("csv", "one field"): lambda size: _lines(b"1", size),
    ("csv", "one field of spaces"): lambda size: b"x\n" + b" " * size + b"1",
    ("csv", "a name of spaces"): lambda size: b"x" + b" " * size + b"y\n1\n2\n",
    ("csv", "a name of 100,000 spaces"): lambda size: b"x" + b" " * 100_000 + b"y,z\n1,2\n2,1\n",
    ("csv", "a name of brackets"): lambda size: b"x" + b"(" * 100_000 + b",z\n1,2\n2,1\n",
    ("csv", "numbers of 100,000 digits"): lambda size: _lines(b"1" * 100_000 + b",2\n", size),
    ("csv", "a quote that never ends"): lambda size: _lines(b"1,2\n", size, b'x,y\n"'),
    ("csv", "quotes in each row"): lambda size: _lines(b'"1\n,2', size, b"x,y\n"),
    ("csv", "letters of four bytes"): lambda size: _lines("1,2\n😀,1\n".encode(), size, b"x,y\n"),
    ("csv", "UTF-16"): lambda size: b"\xff\xfe" + _lines("1\n".encode("utf-16-le"), size),
    ("csv", "UTF-32"): lambda size: _lines("1\n".encode("utf-32-le"), size, b"\xff\xfe\0\0"),
    ("csv", "rates before the table"): lambda size: _lines(
        b"sampling rate                                    1\n", size
    ),
    ("csv", "times before arrows"): lambda size: _lines(b"10:00:00.000 -> 1\n", size),
    ("csv", "a gap in each second row"): lambda size: _lines(
        b"1\n" * 8 + b"nan\n" * 6, size, b"x\n"
    ),
    ("csv", "times that fall"): lambda size: _lines(b"2,1\n1,1\n", size, b"t,x\n"),
    ("csv", "times that stay"): lambda size: _lines(b"1,1\n", size, b"t,x\n1,2\n2,2\n3,2\n"),
    ("csv", "times with gaps"): lambda size: _counted(size, 1.5),
    ("csv", "texts above numbers"): lambda size: (
        (b"a," * 4000 + b"a\n") * 299 + b"1," * 4000 + b"1\n"
    ),
    ("csv", "all delimiters"): lambda size: (b"1,1;1 1|1\t" * 12_000 + b"\n") * (size // 120_001),
    ("csv", "a number with a letter"): lambda size: _lines(b"1a\n", size, b"x\n"),
    ("csv", "numbers with spaces"): lambda size: _lines(b"1 234\n", size, b"x,y\n1,2\n"),
    ("csv", "numbers with commas"): lambda size: _lines(b"1,234;2\n", size, b"x;y\n"),
    ("csv", "texts beside numbers"): lambda size: _lines(b"1,a1\n2,b2\n", size, b"x,y\n"),
    ("gzip", "rows of 1"): lambda size: _packed(b"1\n", size),
    ("gzip", "zeros"): lambda size: gzip.compress(bytes(20 * size), 9, mtime=0),
    ("parquet", "a footer of 20 rows over 40,000,000"): lambda size: _footer_of_20(2 * size),
    ("parquet", "rows of one number, by a dictionary"): lambda size: _row_groups(size // 2, 20),
    ("parquet", "rows of one number, by zstd"): lambda size: _row_groups(
        size // 2, 20, use_dictionary=False, compression="zstd"
    ),
    ("parquet", "rows of one number, by gzip"): lambda size: _row_groups(
        size // 2, 2, use_dictionary=False, compression="gzip"
    ),
    ("parquet", "one page"): lambda size: _row_groups(
        size, 1, use_dictionary=False, compression="zstd", data_page_size=2**31 - 1
    ),
    ("parquet", "one page, by run lengths"): lambda size: _row_groups(
        size, 1, data_page_size=2**31 - 1, write_batch_size=size
    ),
    ("parquet", "small pages"): lambda size: _parquet(
        {"x": np.zeros(150_000)}, data_page_size=1, write_batch_size=1, compression="none"
    ),
    ("parquet", "a footer of 20 MB"): lambda size: _parquet(
        {"x": np.zeros(20), "x" * size: np.zeros(20)}
    ),
    ("parquet", "a small number of 100,000 row groups"): lambda size: _row_groups(
        1, max(10, size // 1000)
    ),
    ("parquet", "texts that repeat"): _texts,
    ("parquet", "a long list"): _lists,
    ("parquet", "100,000 columns"): _many_columns,
    ("parquet", "10,000,000 booleans and bytes"): lambda size: _parquet(
        {
            "x": np.frombuffer(_noise(size // 2), np.int8),
            "y": np.frombuffer(_noise(size // 2), "i1"),
        }
    ),
    ("parquet", "metadata of pandas, nested"): lambda size: _nested(size),
    ("npy", "bytes"): lambda size: _npy_of((size,), "|i1", _noise(size)),
    ("npy", "bytes of 3 channels"): lambda size: _npy_of((size // 3, 3), "|u1", _noise(size)[2:]),
    ("npy", "booleans"): lambda size: _npy_of((size,), "|b1", bytes(size)),
    ("npy", "halves"): lambda size: _npy_of((size // 2,), "<f2", bytes(size)),
    ("npy", "10,000,000 channels"): lambda size: _npy_of((2, size // 2), "|i1", _noise(size)),
    ("npy", "a shape beyond the file"): lambda size: _npy_of((10**12, 3), "<f8", bytes(1000)),
    ("npy", "a shape of nothing"): lambda size: _npy_of((10**15, 0), "<f8"),
    ("npy", "nothing of a shape"): lambda size: _npy_of((0, 10**15), "<f8"),
    ("npy", "texts of no length"): lambda size: _npy_of((10**12,), "<U0"),
    ("npy", "records of no size"): lambda size: _npy_of((10**12,), []),
    ("npy", "a long header"): lambda size: _npy(" " * size, version=2),
    ("npy", "a nested header"): lambda size: _npy("(" * 9_000),
    ("npy", "a nested type"): lambda size: _npy_of((1,), [("a", "f4", (10**9,))]),
    ("wav", "bytes"): lambda size: _wav(_noise(size)),
    ("wav", "mu-law"): lambda size: _wav(_noise(size), tag=7),
    ("wav", "A-law"): lambda size: _wav(_noise(size), tag=6),
    ("wav", "24 bits"): lambda size: _wav(_noise(size // 3 * 3), bits=24),
    ("wav", "floats"): lambda size: _wav(bytes(size // 4 * 4), bits=32, tag=3),
    ("wav", "a length beyond the file"): lambda size: _wav(_noise(1000), size=2**31 - 1000),
    ("wav", "65,535 channels"): lambda size: _wav(
        _noise(size // 65535 * 65535), channels=65535, bits=8
    ),
    ("wav", "chunks of nothing"): lambda size: _wav(b"12", before=b"LIST\0\0\0\0" * (size // 8)),
    ("wav", "chunks of nothing after it"): lambda size: _wav(
        b"12" + b"LIST\0\0\0\0" * (size // 8), size=0
    ),
    ("flac", "silence"): _flac,
}


def _nested(size):
    import pyarrow

    table = pyarrow.table({"x": np.arange(20.0)})
    deep = min(size // 2, 100_000)
    text = '{"index_columns": ' + "[" * deep + "]" * deep + "}"
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"pandas": text}), out)
    return out.getvalue()


def write(folder, kind, name, size=SIZE):
    """Writes a file of `FILES` into a folder, and returns the path of the file."""
    path = pathlib.Path(folder, f"{name.replace('/', ' ')}{SUFFIX.get(kind, '.csv')}")
    path.write_bytes(FILES[kind, name](size))
    return path


READING = """
import json, resource, sys
from keras_dml import recordings
options = json.loads(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    recording = recordings.read(sys.argv[1], **options)
    end = f"read {recording.values.shape}"
except (ValueError, ImportError) as error:
    end = str(error)
except BaseException as error:
    end = f"!! {type(error).__name__}: {str(error)}"
used = resource.getrusage(resource.RUSAGE_SELF)
with open("/proc/self/status") as status:  # ru_maxrss includes the memory of the parent process
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
print(json.dumps({"MB": peak / 1000, "s": used.ru_utime + used.ru_stime
                  - before.ru_utime - before.ru_stime, "end": ascii(end)[1:-1]}))
"""


TIMING = """
import json, sys, time
import numpy as np
from keras_dml import recordings
recordings.import_libraries()
for line in sys.stdin:
    start = time.process_time()
    try:
        recording = recordings.read(json.loads(line))
    except ValueError as error:
        end = str(error)
    except BaseException as error:
        end = f"!! {type(error).__name__}: {str(error)}"
    else:
        is_valid = recording.values.dtype == np.float32 and np.isfinite(recording.values).all()
        end = f"{'' if is_valid else '!! '}read {recording.values.shape}"
    print(json.dumps([time.process_time() - start, end]), flush=True)
"""


class Timer:
    """Process that reads files and measures the processor time of reading."""

    def __init__(self):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([sys.executable, "-c", TIMING], **pipes)

    def read(self, path):
        """Reads a file. Returns the processor time in seconds, and the result in words."""
        self._process.stdin.write(f"{json.dumps(str(path))}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self):
        """Ends the process."""
        self._process.communicate()


def measure(path, **options):
    """Reads a file in a separate process.

    Returns:
        A dict with the peak memory of the process (`MB`), the processor time of reading (`s`) and
        the result in words (`end`).
    """
    call = [sys.executable, "-c", READING, str(path), json.dumps(options)]
    try:
        done = subprocess.run(call, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return {"MB": np.nan, "s": np.nan, "end": f"!! no end after {LONGEST} s"}
    if done.returncode:
        return {"MB": np.nan, "s": np.nan, "end": f"!! exit {done.returncode} {done.stderr[-300:]}"}
    return json.loads(done.stdout)


def main(kinds):
    for kind, name in FILES:
        if kinds and kind not in kinds and name not in kinds:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = write(folder, kind, name)
            size = path.stat().st_size
            used = measure(path)
        print(
            f"{kind:8}{name:44}{size / 1e6:7.2f} MB {used['MB']:7.0f} MB {used['s']:6.1f} s  "
            f"{used['end'].replace(folder, '')[:110]}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
