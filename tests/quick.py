"""Settings that speed up test processes: the process of pytest and processes that tests start."""

import functools
import gc
import sys

from tests.environment import KNOWN_TENSORFLOW, keras_backend


def share_mlir_context():
    """Makes all JAX programs share one MLIR context.

    Creating a context for each program would take a quarter of the time of the tests on JAX.
    """
    if keras_backend() == "jax":
        from jax._src.interpreters import mlir

        mlir.make_ir_context = functools.cache(mlir.make_ir_context)


def after_imports():
    """Configures the garbage collector and TensorFlow after all imports.

    The garbage collector need not visit imported objects, because they are never freed. Garbage
    collection takes a seventh of the time of all tests if it visits imported objects, and half as
    long if it does not visit these objects. For error messages, TensorFlow stores the Python stack
    of each operation of a graph. No test reads these messages, and storing the stacks takes a tenth
    of the time of tests that trace graphs.
    """
    ops = sys.modules.get("tensorflow.python.framework.ops")
    if ops and KNOWN_TENSORFLOW:
        ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
    gc.collect()
    gc.freeze()
