"""What all tests share: the real recordings, a seeded generator, quiet and repeatable runs."""

import os

# Read when TensorFlow and matplotlib are first imported, so set before any test module is.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "agg")

import hypothesis
import numpy as np
import pytest

# The first call of a shape compiles, which no deadline can foresee, and on JAX that is most of the
# time; the same examples on each run.
EXAMPLES = 8 if os.environ.get("KERAS_BACKEND") == "jax" else 40
hypothesis.settings.register_profile(
    "keras_dml", deadline=None, derandomize=True, max_examples=EXAMPLES, database=None
)
hypothesis.settings.load_profile("keras_dml")

REQUIRE_DATA = bool(os.environ.get("KERAS_DML_REQUIRE_DATA"))


@pytest.fixture(scope="session")
def data_dir():
    """Folder of the real recordings, one subfolder a set; skips where there is none."""
    from zoo import recordings

    folder = recordings.data_dir()
    if folder is None:
        pytest.skip("the real recordings are not here (zoo/recordings.py says where to put them)")
    return folder


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session, items):
    """The run on JAX begins with the first test and is waited for by the last one."""
    waiting = [item for item in items if "run_on_jax" in item.fixturenames]
    items[:] = [item for item in items if item not in waiting] + waiting
    if (
        waiting
        and os.environ.get("KERAS_BACKEND") != "jax"
        and not session.config.option.collectonly
    ):
        from tests import test_jax

        session.run_on_jax = test_jax.start()


def pytest_sessionfinish(session):
    if hasattr(session, "run_on_jax"):
        process, printed = session.run_on_jax
        process.kill()
        printed.close()


@pytest.fixture
def run_on_jax(request):
    """The run on JAX, started when the tests were collected: its process and what it prints."""
    return request.session.run_on_jax


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With KERAS_DML_REQUIRE_DATA set, a test of the recordings that is skipped has failed."""
    report = yield
    if REQUIRE_DATA and report.skipped and "data_dir" in getattr(item, "fixturenames", ()):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} needs the recordings, which are required, yet it skipped"
    return report
