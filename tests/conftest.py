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


def pytest_collection_modifyitems(items):
    """The run on JAX is the longest test: it comes first, and the other process takes the rest."""
    items.sort(key=lambda item: item.path.name != "test_jax.py")


def pytest_terminal_summary(terminalreporter):
    """What a test has to say beside having passed, such as the closing line of the run on JAX."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, told in report.user_properties:
                    terminalreporter.write_line(f"{name}: {told}")


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
