"""Mutants: copies of a source file with one small change that a test should notice."""

import ast
import dataclasses
import random
import re
import tomllib

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.Is: ("is", "is not"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
COUNTERPARTS = {
    name: counterpart
    for pair in (
        ("min", "max"),
        ("minimum", "maximum"),
        ("argmin", "argmax"),
        ("any", "all"),
        ("floor", "ceil"),
        ("ceil", "round"),
        ("sum", "mean"),
        ("mean", "median"),
        ("less", "less_equal"),
        ("greater", "greater_equal"),
        ("equal", "not_equal"),
        ("logical_and", "logical_or"),
        ("cumsum", "cumprod"),
        ("zeros_like", "ones_like"),
        ("zeros", "ones"),
        ("exp", "expm1"),
        ("log", "log1p"),
        ("eigvalsh", "eigvals"),
        ("repeat", "tile"),
    )
    for name, counterpart in (pair, pair[::-1])
}
SIDES = {"left": "right", "right": "left"}  # argument `side` of `searchsorted`
# Functions for which exchanged arguments change nothing or fail at once.
UNSWAPPED = {"isinstance", "range", "zip", "print", "getattr", "hasattr", "setattr", "next"}
UNSWAPPED |= {"min", "max", "minimum", "maximum", "equal", "not_equal", "logical_and", "logical_or"}
# Arguments that matter only together with another mistake.
UNDROPPED = {"strict", "stacklevel", "kind"}
# Text for people, and code that is evaluated before a function is called.
UNCHANGED = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One changed copy of a file.

    Attributes:
        path: Path of the file, relative to the root, with slashes.
        function: Qualified name of the function that changes, or an empty string outside of
            functions.
        operator: Kind of change, such as `"comparison"`.
        line: Number of the first changed line.
        old: Changed lines before the mutation, joined and without surrounding spaces.
        new: Changed lines after the mutation.
        source: Text of the whole mutated file.
    """

    path: str
    function: str
    operator: str
    line: int
    old: str
    new: str
    source: str = dataclasses.field(repr=False)

    @property
    def key(self):
        """Key that identifies the mutant without line numbers."""
        return self.path, self.function, self.old, self.new

    def __str__(self):
        place = f"{self.path}:{self.line} {self.function}".rstrip()
        return f"{place}\n  - {self.old}\n  + {self.new}"


def mutants(path, source):
    """Returns all mutants of a file.

    Args:
        path: Path of the file, in the form of `Mutant.path`.
        source: Text of the file.
    """
    finder = _Finder(source)
    finder.visit(ast.parse(source))
    results = {}
    for function, operator, start, end, text in finder.changes:
        changed = source[:start] + text + source[end:]
        first, last = source.rfind("\n", 0, start) + 1, source.find("\n", end)
        last = len(source) if last < 0 else last
        old, new = source[first:last], source[first:start] + text + source[end:last]
        line = source.count("\n", 0, start) + 1
        mutant = Mutant(path, function, operator, line, _one_line(old), _one_line(new), changed)
        if mutant.old != mutant.new:
            results.setdefault(mutant.key, mutant)
    return list(results.values())


def sample(pool, count, seed):
    """Draws mutants so that files and kinds of changes are represented evenly.

    Args:
        pool: List of `Mutant`.
        count: Number of mutants to draw. If `pool` has fewer mutants, the function returns all of
            them.
        seed: Seed of the draw.

    Returns:
        List of `Mutant`.
    """
    rng = random.Random(seed)
    pool = sorted(pool, key=lambda mutant: (mutant.path, mutant.line, mutant.key))
    rng.shuffle(pool)
    draws, files, operators = [], {}, {}
    for mutant in pool:  # rank within the file, and within its kind in the file
        kind = mutant.path, mutant.operator
        operators[kind] = operators.get(kind, 0) + 1
        files[mutant.path] = files.get(mutant.path, 0) + 1
        draws.append((operators[kind], files[mutant.path], len(draws), mutant))
    draws.sort(key=lambda draw: draw[:3])
    by_file = {}
    for *_, mutant in draws:
        by_file.setdefault(mutant.path, []).append(mutant)
    drawn = []
    while by_file and len(drawn) < count:  # one from each file in turn
        for path in list(by_file):
            mutant = by_file[path].pop(0)
            if _compiles(mutant.source):
                drawn.append(mutant)
            if not by_file[path]:
                del by_file[path]
    return drawn[:count]


def equivalents(text):
    """Returns a dictionary of the mutants that do not change behavior: `Mutant.key` and the reason.

    Args:
        text: TOML text with tables named `equivalent`. Each table has the keys `file`, `function`,
            `old`, `new` and `reason`.
    """
    tables = tomllib.loads(text).get("equivalent", [])
    return {
        (table["file"], table["function"], table["old"], table["new"]): table["reason"]
        for table in tables
    }


class _Finder(ast.NodeVisitor):
    """Collects changes `(function, operator, start, end, text)` of a source text."""

    def __init__(self, source):
        self.source, self.changes, self._names = source, [], []
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._bytes = [line.encode() for line in source.splitlines(keepends=True)]

    def visit(self, node):
        if isinstance(node, ast.Raise):
            self._replace("check dropped", node, "pass")
        if isinstance(node, UNCHANGED) or _is_warning(node) or _is_docstring(node):
            return
        if isinstance(node, ast.keyword) and node.arg in UNDROPPED:
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._names.append(node.name)
            children = [*node.body]
            if not isinstance(node, ast.ClassDef):
                children += [default for default in _defaults(node.args) if default is not None]
            for child in children:
                self.visit(child)
            self._names.pop()
            return
        if isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.visit(node.value)
            return
        method = getattr(self, f"visit_{type(node).__name__}", None)
        if method is not None:
            method(node)
        self.generic_visit(node)

    def visit_Compare(self, node):
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
            for kind, pair in COMPARISONS.items():
                if isinstance(operator, kind):
                    self._replace_between("comparison", left, right, *pair)

    def visit_BinOp(self, node):
        if any(_is_text(side) for side in (node.left, node.right)):
            return
        for kind, pair in ARITHMETIC.items():
            if isinstance(node.op, kind):
                self._replace_between("arithmetic", node.left, node.right, *pair)
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            self._replace("term dropped", node, f"({self._text(node.left)})")
        if isinstance(node.op, ast.Add | ast.Mult):
            self._replace("term dropped", node, f"({self._text(node.right)})")
        if isinstance(node.op, ast.MatMult | ast.Sub | ast.Div):
            left, right = self._text(node.left), self._text(node.right)
            operator = {ast.MatMult: "@", ast.Sub: "-", ast.Div: "/"}[type(node.op)]
            self._replace("arguments swapped", node, f"(({right}) {operator} ({left}))")

    def visit_AugAssign(self, node):
        pair = ARITHMETIC.get(type(node.op))
        if pair and not _is_text(node.value):
            self._replace_between("arithmetic", node.target, node.value, *(f"{op}=" for op in pair))

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self._replace_between("condition", node.values[0], node.values[1], old, new)
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            text = f" {old} ".join(f"({self._text(value)})" for value in rest)
            self._replace("condition dropped", node, f"({text})")

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            self._replace("sign dropped", node, f"({self._text(node.operand)})")

    def visit_Constant(self, node):
        value = node.value
        if isinstance(value, bool):
            self._replace("constant", node, str(not value))
        elif isinstance(value, int):
            self._replace("constant", node, str(value + 1))
            if value > 0:
                self._replace("constant", node, str(value - 1))
        elif isinstance(value, float):
            self._replace("constant", node, repr(2 * value if value else 1.0))
            if value:
                self._replace("constant", node, "0.0")
        elif isinstance(value, str) and value in SIDES:
            self._replace("counterpart", node, repr(SIDES[value]))

    def visit_Call(self, node):
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        if name in COUNTERPARTS:
            _, end = self._span(node.func)
            self._add("counterpart", end - len(name), end, COUNTERPARTS[name])
        first = node.args[:2]
        plain = len(first) == 2 and not any(isinstance(arg, ast.Starred) for arg in first)
        if plain and name not in UNSWAPPED and ast.dump(first[0]) != ast.dump(first[1]):
            (start, middle), (next_, end) = map(self._span, first)
            texts = self._text(first[1]), self.source[middle:next_], self._text(first[0])
            self._add("arguments swapped", start, end, "".join(texts))
        for keyword in node.keywords:
            if keyword.arg == "axis" and isinstance(keyword.value, ast.Constant | ast.UnaryOp):
                axis = ast.literal_eval(keyword.value)
                if isinstance(axis, int):
                    self._replace("axis", keyword.value, "0" if axis else "-1")
            elif keyword.arg and keyword.arg not in UNDROPPED:
                start, end = self._span(keyword)
                comma = re.compile(r",\s*").match(self.source, end)
                before = re.search(r",\s*$", self.source[:start])
                if comma:
                    self._add("argument dropped", start, comma.end(), "")
                elif before:
                    self._add("argument dropped", before.start(), end, "")

    def visit_If(self, node):
        self._negate(node.test)
        last = node.body[-1]
        if isinstance(last, ast.Return | ast.Continue | ast.Break):
            self._replace("check dropped", last, "pass")

    def visit_While(self, node):
        self._negate(node.test)

    def visit_IfExp(self, node):
        self._negate(node.test)

    def visit_comprehension(self, node):
        for condition in node.ifs:
            self._negate(condition)
            self._replace("condition dropped", condition, "True")

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call):
            self._replace("statement dropped", node, "pass")

    def _negate(self, test):
        self._replace("condition negated", test, f"(not ({self._text(test)}))")

    def _offset(self, line, column):
        return self._lines[line - 1] + len(self._bytes[line - 1][:column].decode())

    def _span(self, node):
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno, node.end_col_offset)

    def _text(self, node):
        start, end = self._span(node)
        return self.source[start:end]

    def _replace(self, operator, node, text):
        self._add(operator, *self._span(node), text)

    def _replace_between(self, operator, left, right, old, new):
        """Replaces the operator between two operands. The syntax tree does not contain the position
        of the operator."""
        start, end = self._span(left)[1], self._span(right)[0]
        place = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", self.source[start:end])
        if place:
            self._add(operator, start + place.start(), start + place.end(), new)

    def _add(self, operator, start, end, text):
        self.changes.append((".".join(self._names), operator, start, end, text))


def _defaults(arguments):
    return [*arguments.defaults, *arguments.kw_defaults]


def _is_docstring(node):
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


def _is_text(node):
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple)


def _is_warning(node):
    name = getattr(getattr(node, "func", None), "attr", None)
    return isinstance(node, ast.Call) and name == "warn"


def _one_line(text):
    return " ".join(text.split())


def _compiles(source):
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
