"""Functions that limit the memory of test processes."""

import concurrent.futures
import contextlib
import ctypes
import gc
import multiprocessing


def give_back():
    """Returns free memory to the operating system, because the C library glibc otherwise keeps free
    memory."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def in_new_process(function, *arguments):
    """Calls a function in a new process, which then ends, and returns the result.

    The memory that the function needed, such as recordings and kernels of a model, is freed when
    the process ends.
    """
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
