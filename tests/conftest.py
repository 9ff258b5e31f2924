"""Fixtures and hooks for all tests. The fixtures and hooks find the real recordings, seed random
numbers, order the tests, and free memory.
"""

import contextlib
import gc
import importlib
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import zlib

try:
    import fcntl
    import resource
except ImportError:  # on Windows
    fcntl = resource = None

from tests.environment import keras_backend  # before NumPy is imported

# isort: split
import hypothesis
import numpy as np
import pytest

from tests import memory, quick

# There is no deadline, because the first call with each shape compiles, which takes most of the
# time on JAX. Each run uses the same examples.
EXAMPLES = 4 if os.environ.get("KERAS_BACKEND") == "jax" else 30
hypothesis.settings.register_profile(
    "keras_dml", deadline=None, derandomize=True, max_examples=EXAMPLES, database=None
)
hypothesis.settings.load_profile("keras_dml")

REQUIRE_DATA = bool(os.environ.get("KERAS_DML_REQUIRE_DATA"))

# Folder for prepared real recordings. The process that first needs a data set prepares it, once per
# run. The user's own folder is not used, because another version of the builders may have written
# its data sets.
PREPARED = None if "PYTEST_XDIST_WORKER" in os.environ else tempfile.mkdtemp(prefix="keras-dml-")
if PREPARED:
    os.environ["TFDS_DATA_DIR"] = PREPARED


@pytest.fixture(scope="session")
def data_dir():
    """Returns the folder of the real recordings, which has one subfolder per data set. Skips the
    test if the folder does not exist."""
    from zoo import recordings

    folder = recordings.data_dir()
    if folder is None:
        pytest.skip("the real recordings are not here (zoo/recordings.py says where to put them)")
    return folder


# These tests start first, so that different processes run them. The run on JAX takes longest, the
# test of the main results holds recordings of all models in memory, and the other tests compile the
# most programs, which XLA does not free.
FIRST = (
    "test_jax.py",
    "test_headlines.py",
    "test_contracts.py",
    "test_adversarial_training.py",
    "test_training.py",
    "test_wasserstein.py",
    "test_prototypical_classifier.py",
    "test_checked_training.py",
    "test_hostile.py",
    "test_goldens.py",
    "test_docs.py",
    "test_tangent_map.py",
)
SLOTS = range((os.cpu_count() or 1) + 1)  # tests that may run at once
POLL = 0.005  # seconds
# If this process uses more memory than this number of bytes, compiled programs are dropped. JAX
# then compiles them again.
MOST_MEMORY = {"tensorflow": 5 * 2**28, "jax": 2**31}
GROWTH = 150 * 2**20  # growth in bytes after which freeing memory is worth the time
KEPT = [0]  # memory in bytes after each release


def pytest_configure(config):
    config.addinivalue_line("markers", "recordings: needs the real recordings; set by conftest.py")
    quick.share_mlir_context()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Turns off the garbage collector while pytest imports the test modules. Imported objects are
    never freed. A search for garbage among these objects took a quarter of the time until a process
    began its first test.
    """
    gc.disable()
    if hasattr(session.config, "workerinput"):
        _import_from_another_place(session.config)
    result = yield
    gc.enable()
    return result


def _import_from_another_place(config):
    """Imports the test modules, and starts at another module in each process.

    Compiling the test modules takes as long as importing TensorFlow. If all processes imported the
    modules in the same order, each process would compile every module. With different orders, each
    process compiles a part of the modules and reads the bytecode of the other parts.
    """
    patterns = config.getini("python_files")
    folders = [config.rootpath / argument.partition("::")[0] for argument in config.args]
    files = sorted(
        {file for folder in folders for pattern in patterns for file in folder.rglob(pattern)}
    )
    number = int(config.workerinput["workerid"].removeprefix("gw"))
    first = len(files) * number // config.workerinput["workercount"]
    for file in files[first:] + files[:first]:
        # pytest imports a module that fails or skips again, and reports the reason
        with contextlib.suppress(Exception, pytest.skip.Exception):
            parts = file.relative_to(config.rootpath).with_suffix("").parts
            importlib.import_module(".".join(parts))


@pytest.hookimpl(tryfirst=True)  # before pytest selects by markers
def pytest_collection_modifyitems(items):
    if keras_backend() == "jax":
        for item in items:
            if item.get_closest_marker("slow_on_jax"):
                item.add_marker("slow")
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("recordings")
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.name, len(FIRST)))


def pytest_collection_finish():
    quick.after_imports()


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    """Seeds the random generators before each fixture, so that random weights of a fixture do not
    depend on earlier tests."""
    _seed(fixturedef.argname)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Seeds the random generators before each test, so that a test draws the same numbers whether
    it runs alone or after other tests."""
    _seed(item.nodeid)


def _seed(name):
    """Seeds the generators of Python and NumPy. Layers draw their seeds from Python's generator."""
    number = zlib.crc32(name.encode())
    random.seed(number)
    np.random.seed(number)


SEEDED = [None]  # file of the tests for which Keras and TensorFlow were seeded last


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Seeds the generators of Keras and TensorFlow before the first test of each file. `fit` draws
    the order of the examples from them. Seeding TensorFlow deletes all kernels that it has created.
    If each test seeded TensorFlow, creating the kernels again would take a fifth of the time.
    """
    if item.path != SEEDED[-1] and "keras" in sys.modules:
        SEEDED[-1] = item.path
        sys.modules["keras"].utils.set_random_seed(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Limits the number of tests that run at the same time to the number of cores plus one.

    With one additional test, all cores stay busy while a test waits for a server or a child
    process. Further tests would need more memory without saving time.
    """
    if fcntl is None or not hasattr(item.config, "workerinput"):
        return (yield)
    with contextlib.ExitStack() as stack:
        places = [_slot(os.getppid(), number) for number in SLOTS]
        locks = [stack.enter_context(place.open("w")) for place in places]
        while not any(_locked(lock) for lock in locks):
            time.sleep(POLL)
        result = yield
    if nextitem is None or nextitem.path != item.path:
        time.sleep(2 * POLL)  # so that another process gets the slot
    return result


def _slot(run, number):
    return pathlib.Path(tempfile.gettempdir()) / f"keras-dml-tests-{run}-{number}"


def _locked(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Frees memory that backends never free by themselves. Without this hook, a run of all tests
    would keep 5 GB of memory on each backend."""
    alone = item.get_closest_marker("shares_nothing") is not None
    most = 0 if alone and keras_backend() != "jax" else MOST_MEMORY[keras_backend()]
    if _memory() < max(most, KEPT[-1] + GROWTH):
        return
    if keras_backend() == "jax":
        import jax

        jax.clear_caches()
    elif nextitem is None or nextitem.path != item.path or alone:
        _forget_training_steps()
    else:
        return
    memory.give_back()
    KEPT.append(_memory())


def _forget_training_steps():
    """Deletes the gradients that TensorFlow registers for each traced step, because these gradients
    keep the graph in memory. These gradients would only be needed to differentiate a function that
    an earlier test file defined. Kernels are created again when they are called.
    """
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops

    registry = ops.gradient_registry._registry
    for name in [name for name in registry if name.startswith("CustomGradient-")]:
        del registry[name]
    context.context().clear_kernel_cache()


def _memory():
    """Returns the memory of this process in bytes, or 0 if the system does not report it."""
    pages = pathlib.Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else 0


PEAKS = []  # for each test process: peak memory in MB, and the test that needed it
PEAK = [0, "no test"]  # for this process


def pytest_runtest_logfinish(nodeid):
    """Remembers which test of this process needed the most memory."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024 if resource else 0
    if peak > PEAK[0]:
        PEAK[:] = peak, nodeid


def pytest_sessionfinish(session):
    gc.collect()
    gc.freeze()  # pytest collects five times more
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["peak"] = PEAK
        return
    if not PEAKS:
        PEAKS.append(PEAK)
    if PREPARED:
        shutil.rmtree(PREPARED, ignore_errors=True)
    for number in SLOTS:
        _slot(os.getpid(), number).unlink(missing_ok=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    if hasattr(node, "workeroutput"):  # a crashed process has no output
        PEAKS.append(node.workeroutput["peak"])


def pytest_terminal_summary(terminalreporter):
    """Prints additional reports of the tests, such as the last line of the run on JAX."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, told in report.user_properties:
                    terminalreporter.write_line(f"{name}: {told}")
    for megabytes, test in PEAKS:
        terminalreporter.write_line(f"most memory of a process of tests: {megabytes:,} MB, {test}")


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """If KERAS_DML_REQUIRE_DATA is set, a skipped test of real recordings counts as failed."""
    report = yield
    if REQUIRE_DATA and report.skipped and "data_dir" in getattr(item, "fixturenames", ()):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs the recordings, which are required, yet it skipped"
    return report
