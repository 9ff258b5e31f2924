"""A pytest plugin that finds the worked examples whose values a test asserts.

The plugin changes every expected value and gradient, and runs the tests that call `golden`. If a
test then fails in an assertion, the plugin notes the examples that the test read. If a test still
passes, the test does not depend on the values of its examples. The plugin writes the ids of all
noted examples into the JSON file that the environment variable `GOLDENS_CARRIED` names, in one list
for each golden file.
"""

import json
import math
import os
import pathlib
import types

from tests import goldens

VALUES = ("expected", "gradient")
ORIGINAL = goldens.golden  # before `pytest_configure` replaces it
READ = set()  # (file, id) of the examples whose values the running test has read
CARRIED = set()


def golden(example_id, seeds="seeds_p1"):
    """Same as `tests.goldens.golden`, with changed values."""
    return Example(ORIGINAL(example_id, seeds), (seeds, example_id))


class Example(dict):
    """A worked example with changed values. The example records that a test read one of these
    values.
    """

    def __init__(self, example, key):
        super().__init__(
            {name: changed(item) if name in VALUES else item for name, item in example.items()}
        )
        self.key = key

    def __getitem__(self, name):
        if name in VALUES:
            READ.add(self.key)
        return super().__getitem__(name)

    def get(self, name, default=None):
        return self[name] if name in self else default


def changed(value):
    """Returns another value of the same type and shape."""
    if isinstance(value, dict):
        return {key: changed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [changed(item) for item in value]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + max(1.0, abs(value)) if math.isfinite(value) else 0.0
    return value


def pytest_configure():
    goldens.golden = golden  # before test modules import it


def pytest_collection_modifyitems(config, items):
    remaining = [
        item for item in items if calls_golden(item.function, set()) or _fixtures_call(item)
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in remaining])
    items[:] = remaining


def calls_golden(function, seen):
    """Returns True if a function calls `golden`, directly or through other functions of the tests.

    Args:
        function: Any object; only functions call anything.
        seen: Set of the functions that were searched before. The search adds functions to this set.
    """
    function = getattr(function, "__wrapped__", function)
    if function is golden:
        return True
    if not isinstance(function, types.FunctionType) or function in seen:
        return False
    seen.add(function)
    names, scope = _names(function.__code__), function.__globals__
    result = [scope[name] for name in names if name in scope]
    for module in [
        item for item in result if isinstance(item, types.ModuleType) and _of_tests(item)
    ]:
        result += [vars(module)[name] for name in names if name in vars(module)]
    return any(calls_golden(item, seen) for item in result if _of_tests(item))


def _names(code):
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return {*code.co_names}.union(*(_names(item) for item in inner))


def _of_tests(one):
    name = one.__name__ if isinstance(one, types.ModuleType) else getattr(one, "__module__", None)
    return str(name).startswith("tests.")


def _fixtures_call(item):
    fixtures = [each for element in item._fixtureinfo.name2fixturedefs.values() for each in element]
    return any(calls_golden(each.func, set()) for each in fixtures)


def pytest_runtest_setup():
    READ.clear()


def pytest_runtest_makereport(call):
    if call.when == "call" and call.excinfo and call.excinfo.errisinstance(AssertionError):
        CARRIED.update(READ)


def pytest_sessionfinish():
    carried = {}
    for seeds, example_id in sorted(CARRIED):
        carried.setdefault(seeds, []).append(example_id)
    pathlib.Path(os.environ["GOLDENS_CARRIED"]).write_text(json.dumps(carried))
