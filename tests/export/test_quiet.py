"""Tests that output is silent during an export and restored afterwards."""

import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

from keras_dml.export import _quiet
from keras_dml.export._quiet import quiet

THREADS = 8


def streams():
    return [(os.fstat(stream).st_dev, os.fstat(stream).st_ino) for stream in (1, 2)]


def run(work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_leave_streams_and_filters_as_they_were():
    before, filters, open_files = streams(), list(warnings.filters), len(os.listdir("/dev/fd"))

    def work(i):
        for _ in range(20):
            with quiet():
                time.sleep(1e-4 * (i % 3))

    run(work)
    assert streams() == before and warnings.filters == filters
    assert len(os.listdir("/dev/fd")) == open_files


def test_threads_that_catch_warnings_leave_no_filter():
    filters = list(warnings.filters)
    inside, caught = threading.Event(), threading.Event()

    def export():
        with quiet():
            inside.set()
            caught.wait(10)

    thread = threading.Thread(target=export)
    thread.start()
    inside.wait(10)
    with warnings.catch_warnings():  # copies the filters of the export
        warnings.simplefilter("ignore")
        caught.set()
        thread.join()
    assert warnings.filters == filters


def test_temporary_filters_of_other_threads_are_not_restored():
    filters = list(warnings.filters)
    silence = quiet()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        silence.__enter__()
    silence.__exit__(None, None, None)
    assert warnings.filters == filters


def test_an_error_inside_ends_the_silence():
    before, filters = streams(), list(warnings.filters)
    with pytest.raises(KeyboardInterrupt), quiet():
        raise KeyboardInterrupt
    assert streams() == before and warnings.filters == filters


@pytest.mark.slow
def test_output_inside_is_discarded():
    code = (
        "import os, runpy, sys, warnings; quiet = runpy.run_path(sys.argv[1])['quiet']\n"
        "print('before')\n"
        "with quiet():\n"
        "    with quiet(): print('inside'); os.write(2, b'below Python')\n"
        "    print('still inside')\n"
        "    warnings.warn_explicit('old', UserWarning, 'file.py', 1, 'tensorflow.lite')\n"
        "print('after')"
    )
    command = [sys.executable, "-W", "error", "-c", code, _quiet.__file__]  # without TensorFlow
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("before\nafter\n", "")


def test_warnings_of_other_packages_still_appear():
    with quiet(), pytest.warns(UserWarning, match="mine"):
        warnings.warn("mine", stacklevel=1)
