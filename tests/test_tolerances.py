"""Comparisons with an absolute tolerance say the relative one, which NumPy does not set to 0."""

import ast
import pathlib

TESTS = pathlib.Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
COMPARISONS = {"assert_allclose", "allclose", "isclose"}


def without_rtol(program):
    """Lines of comparisons that are given `atol` but not `rtol`."""
    calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _name(call) in COMPARISONS and _lacks_rtol(call)]


def _name(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", None)


def _lacks_rtol(call):
    given = {keyword.arg for keyword in call.keywords}  # None stands for `**options`
    return "atol" in given and not given & {"rtol", None} and len(call.args) < 3


def test_every_comparison_with_an_absolute_tolerance_says_its_relative_one():
    found = {str(path.relative_to(TESTS)): without_rtol(path.read_text()) for path in FILES}
    found = {path: lines for path, lines in found.items() if lines}
    assert not found, f"add `rtol=0` where an absolute tolerance is meant: {found}"


def test_what_lacks_a_relative_tolerance_is_found():
    lines = [
        "np.testing.assert_allclose(x, y, atol=1e-6)",
        "np.testing.assert_allclose(x, y, rtol=0, atol=1e-6)",
        "np.testing.assert_allclose(x, y)",
        "np.testing.assert_allclose(x, y, 0, atol=1e-6)",
        "np.testing.assert_allclose(x, y, **close)",
        "np.allclose(x, y, atol=1e-6)",
    ]
    assert without_rtol("\n".join(lines)) == [1, 6]
