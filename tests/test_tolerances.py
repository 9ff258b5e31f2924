"""Tests that comparisons that set `atol` also set `rtol`, because the default of `rtol` in NumPy is
not 0."""

import ast
import pathlib

TESTS = pathlib.Path(__file__).parent
FILES = sorted(TESTS.rglob("*.py"))
COMPARISONS = {"assert_allclose", "allclose", "isclose"}


def without_rtol(program):
    """Returns the line numbers of comparisons that set `atol` but not `rtol`."""
    calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _name(call) in COMPARISONS and _lacks_rtol(call)]


def _name(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", None)


def _lacks_rtol(call):
    names = {keyword.arg for keyword in call.keywords}  # None stands for `**options`
    return "atol" in names and not names & {"rtol", None} and len(call.args) < 3


def test_every_comparison_with_atol_sets_rtol():
    assert FILES
    lines = {str(path.relative_to(TESTS)): without_rtol(path.read_text()) for path in FILES}
    missing = {path: numbers for path, numbers in lines.items() if numbers}
    assert not missing, f"add `rtol=0` to these comparisons with `atol`: {missing}"


def test_comparisons_without_rtol_are_found():
    lines = [
        "np.testing.assert_allclose(x, y, atol=1e-6)",
        "np.testing.assert_allclose(x, y, rtol=0, atol=1e-6)",
        "np.testing.assert_allclose(x, y)",
        "np.testing.assert_allclose(x, y, 0, atol=1e-6)",
        "np.testing.assert_allclose(x, y, **close)",
        "np.allclose(x, y, atol=1e-6)",
    ]
    assert without_rtol("\n".join(lines)) == [1, 6]
