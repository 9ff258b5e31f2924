"""Memory of a process of tests."""

import concurrent.futures
import contextlib
import ctypes
import gc
import multiprocessing


def give_back():
    """Returns to the system what is free: glibc keeps it, unless told."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def in_new_process(function, *arguments):
    """Returns what a function returns in a process of its own, which then ends.

    What the function took, such as recordings and the kernels of a model, is freed with it.
    """
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
