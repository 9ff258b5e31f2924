"""Every worked example is carried by a test."""

import pathlib
import re

import pytest

from tests.goldens import load

TESTS = pathlib.Path(__file__).parent


def strings():
    """What stands in quotes in the tests: ids, and what ids are put together from."""
    texts = [path.read_text() for path in TESTS.rglob("*.py") if path != pathlib.Path(__file__)]
    return set(re.findall(r"""["']([\w-]+)(?:["']|\{)""", "\n".join(texts)))


@pytest.mark.parametrize("seeds", ["seeds_p1", "seeds_p2", "seeds_p3"])
def test_every_worked_example_is_named_by_a_test(seeds):
    """Whole, or in two parts at a hyphen or an underscore, as `"eer-"` and a list of names."""
    named = strings()

    def is_named(example):
        cuts = [match.start() for match in re.finditer("[-_]", example)]
        halves = [(example[: i + 1], example[i + 1 :]) for i in cuts]
        halves += [(example[:i], example[i + 1 :]) for i in cuts]
        return example in named or any(set(pair) <= named for pair in halves)

    missing = [one["id"] for one in load(seeds)["examples"] if not is_named(one["id"])]
    assert not missing, f"no test names {missing}"
