"""Makes processes of tests faster: the one of pytest and those that tests start."""

import functools
import gc
import sys

from tests.environment import KNOWN_TENSORFLOW, keras_backend


def share_mlir_context():
    """Lets all programs of JAX share one MLIR context.

    Building a context for each program takes a quarter of the time of the tests on JAX.
    """
    if keras_backend() == "jax":
        from jax._src.interpreters import mlir

        mlir.make_ir_context = functools.cache(mlir.make_ir_context)


def after_imports():
    """Tunes the garbage collector and TensorFlow, once all that the tests need is imported.

    Imported objects stay, so the garbage collector need not visit them: it takes a seventh of the
    time of all tests, without them half of that. TensorFlow notes the Python stack at each
    operation of a graph, for messages that no test reads: a tenth of the time where graphs are
    traced.
    """
    ops = sys.modules.get("tensorflow.python.framework.ops")
    if ops and KNOWN_TENSORFLOW:
        ops._create_c_op = functools.partial(ops._create_c_op, extract_traceback=False)
    gc.collect()
    gc.freeze()
