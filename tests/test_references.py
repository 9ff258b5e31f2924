"""Tests that `REFERENCES.md` lists every cited key, and that texts contain no undefined codes."""

import io
import pathlib
import re
import subprocess
import tokenize
import unicodedata

import pytest

ROOT = pathlib.Path(__file__).parent.parent
LIST = "REFERENCES.md"
TEXTS = {".py", ".md", ".json", ".cff", ".toml", ".bib"}
GOLDENS = "tests/goldens/"  # worked examples, kept in their original form

KEY = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)?(?:19|20)\d\d[a-z]?\b")
ENTRY = re.compile(r"^- \*\*(.+?)\*\*: ((?:.+\n)(?:  .+\n)*)", re.MULTILINE)
FIRST_AUTHOR = re.compile(r"(?:[A-Z]\w?\. )+([\w-]+)")
PROSE = re.compile(
    r"\b([A-Z][\w-]+)(?:\s+et\s+al\.|\s+(?:and|&)\s+[A-Z]\w+(?:\s+[A-Z]\w+)*)"
    r",?\s+\(?((?:19|20)\d\d)\b"
)
# Codes from old notes: R and a number (in R@1 and ResNet no number follows the R), or P and the
# number of a paper. Electrodes have names like papers, but they occur in lists with other
# electrodes.
RESOLUTION = re.compile(r"\bR\d{1,2}\b")
NUMBERED = re.compile(r"\bP[1-3]\b|\b[Pp]aper\s+[1-3]\b")
ELECTRODE = r"[A-Z]{1,3}[0-9Z]"
BESIDE = re.compile(rf"{ELECTRODE}[\s\"',]+$"), re.compile(rf"[\s\"',]+{ELECTRODE}\b")


def texts():
    """Returns the path and the text of each tracked file. For Python files the text consists of
    comments and strings."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [name for name in listed.stdout.split("\0") if pathlib.Path(name).suffix in TEXTS]
    paths = [name for name in paths if not (name.startswith(GOLDENS) and name.endswith(".json"))]
    return {name: (ROOT / name).read_text() for name in paths if (ROOT / name).exists()}


@pytest.fixture(scope="module")
def written():
    return texts()


@pytest.fixture(scope="module")
def listed():
    """Returns a dictionary from the key of each entry in `REFERENCES.md` to the entry."""
    return dict(ENTRY.findall((ROOT / LIST).read_text()))


def words_of(program):
    """Returns the comments and strings of a program, without names and numbers."""
    tokens = tokenize.generate_tokens(io.StringIO(program).readline)
    spoken = ("COMMENT", "STRING", "FSTRING_MIDDLE")
    return "\n".join(token.string for token in tokens if tokenize.tok_name[token.type] in spoken)


def codes(text, name="page.md"):
    """Returns undefined codes in a text. Such a code consists of a letter and a digit."""
    if not (RESOLUTION.search(text) or NUMBERED.search(text)):
        return []
    if name.endswith(".py"):
        text = words_of(text)
    before, behind = BESIDE
    papers = [
        match[0]
        for match in NUMBERED.finditer(text)
        if not (before.search(text[: match.start()][-9:]) or behind.match(text, match.end()))
    ]
    return [*RESOLUTION.findall(text), *papers]


def key_of(name, year):
    """Returns the key of a citation in prose, such as `Mueller2007` for `Müller` and 2007."""
    name = re.sub("([äöü])", r"\1e", name).replace("-", "")
    return unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode() + year


@pytest.mark.slow
def test_every_key_is_listed_and_every_entry_cited(written, listed):
    cited = {
        key: name for name, text in written.items() if name != LIST for key in KEY.findall(text)
    }
    unknown = {key: name for key, name in cited.items() if key not in listed}
    assert not unknown, f"not in {LIST}: {unknown}"
    others = "\n".join(text for name, text in written.items() if name != LIST)
    idle = [key for key in listed if not re.search(rf"\b{re.escape(key)}\b", others)]
    assert not idle, f"listed and cited nowhere: {idle}"


def test_citations_in_prose_are_listed_too(written, listed):
    unknown = {
        match[0]: name
        for name, text in written.items()
        for match in PROSE.finditer(text)
        if key_of(*match.groups()) not in listed
    }
    assert not unknown, f"not in {LIST}: {unknown}"


def test_the_list_is_in_order_and_its_keys_fit_their_entries(listed):
    keys = [key for key in listed if KEY.fullmatch(key)]
    assert len(keys) > 50 and keys == sorted(keys, key=str.lower)
    for key in keys:
        year = re.search(r"\d{4}", key)[0]
        assert key_of(FIRST_AUTHOR.match(listed[key])[1], year) == key.rstrip("abc")
        assert year in listed[key], key


def test_the_citation_file_names_the_papers_as_the_list_does(listed):
    entries = " ".join(" ".join(listed.values()).split())
    _, references = (ROOT / "CITATION.cff").read_text().split("\nreferences:\n")
    titles = re.findall(r'^    title: "(.+)"$', references, re.MULTILINE)
    assert len(titles) == 3
    assert all(title in entries for title in titles)


def test_no_code_is_left_that_nothing_defines(written):
    found = {name: codes(text, name) for name, text in written.items()}
    left = {name: found[name] for name in found if found[name]}
    assert not left, "cite as in (Abdelwahab2019, Eq. 9), or say it in words: " + str(left)


def test_a_code_is_told_from_what_looks_like_one():
    one, two = "P" + "1", "P" + "2"
    for text in (f"({one} Eq. 9)", f"{two}'s Table 1", f"{one} and {two}", "(R" + "22)."):
        assert codes(text), text
    for text in ("R@1 of ResNet50", f"OZ {two} {one} CPZ", f'"OZ",\n  "{one}",\n  "CPZ"'):
        assert not codes(text), text
    assert codes("the protocol of paper " + "1")
    assert not codes(f"{one} = x[0]  # the first point", "a.py")
    assert codes(f"x = 1  # as in {one}", "a.py")
