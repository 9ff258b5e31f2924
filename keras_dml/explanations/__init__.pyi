from ._explain import explain as explain
from ._explain import explain_nearest as explain_nearest
from ._result import Explanation as Explanation
from ._result import Moment as Moment
from ._result import Timeline as Timeline

__all__ = [
    "Explanation",
    "Moment",
    "Timeline",
    "explain",
    "explain_nearest",
]
