"""Tests that the HTML page of a comparison is self-contained and safe."""

import base64
import html.parser
import os
import re
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure

from export.browser import Browser
from keras_dml import reports
from keras_dml.reports.page import Picture, Section, write_page

HOSTILE = "<script>alert(\"x\")</script> & 'so on'"


class Elements(html.parser.HTMLParser):
    """Parser that collects tags with their attributes, and the text of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture
def picture(tmp_path):
    figure = Figure(figsize=(4, 2))
    figure.subplots().plot(np.arange(5), np.arange(5) ** 2)
    _, svg = reports.save(figure, tmp_path / "curve")
    return svg


@pytest.fixture
def page(picture, tmp_path):
    section = Section("Right answers", "Of 10 images.", ("method", "clean"), [(HOSTILE, 0.5)], "§")
    return write_page(
        tmp_path / "report.html",
        "A comparison",
        lead=["What it is.", HOSTILE],
        sections=[section],
        pictures=[Picture(picture, "a curve")],
        facts={"command": HOSTILE},
    )


def test_text_is_escaped(page):
    found = Elements(page.read_text(encoding="utf-8"))
    text = "".join(found.text)
    assert not found.all("script") and text.count(HOSTILE) == 3
    for part in ("A comparison", "What it is.", "Right answers", "0.5", "§", "a curve"):
        assert part in text, part
    assert len(found.all("td")) == 2 + 2  # the table's row; command and date


def test_it_loads_nothing(page, picture):
    found = Elements(page.read_text(encoding="utf-8"))
    (image,) = found.all("img")
    kind, _, data = image["src"].partition(",")
    assert kind == "data:image/svg+xml;base64" and base64.b64decode(data) == picture.read_bytes()
    assert image["alt"] == "a curve"
    assert not found.all("link") and not re.search(r"url\(|@import", page.read_text())
    policy = [meta["content"] for meta in found.all("meta") if "http-equiv" in meta]
    assert policy == ["default-src 'none'; img-src data:; style-src 'unsafe-inline'"]


def test_a_missing_picture_leaves_the_earlier_page(page, tmp_path):
    before = page.read_bytes()
    with pytest.raises(FileNotFoundError):
        write_page(page, "Other", lead=[], pictures=[Picture(tmp_path / "no.svg", "none")])
    assert page.read_bytes() == before


def test_invalid_arguments_of_a_page_are_refused(picture, tmp_path):
    def page(lead=("a",), rows=(), picture=picture):
        section = Section("Right answers", "", ("method", "clean"), rows)
        return write_page(
            tmp_path / "report.html",
            "A",
            lead=lead,
            sections=[section],
            pictures=[Picture(picture, "")],
        )

    with pytest.raises(TypeError, match="a list of paragraphs"):
        page(lead="hello")
    with pytest.raises(
        ValueError, match=r"'Right answers' must have 2 entries.*Received \('SIM',\)"
    ):
        page(rows=[("SIM",)])
    with pytest.raises(ValueError, match="must be an .svg file"):
        page(picture=picture.with_suffix(".png"))
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_the_page_fits_a_phone(picture, tmp_path):
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    path = "/home/somebody/" + 12 * "a_long_folder/"
    wide = Section("A table", path, [*"abcdefgh"], [8 * ["0.9791 ± 0.0017"]], path)
    page = write_page(
        tmp_path / "report.html",
        "A comparison",
        lead=[f"Not in {path}."],
        sections=[wide],
        pictures=[Picture(picture, "a curve")],
        facts={"command": path},
    )
    with Browser(width=360) as browser:
        browser.open(page.as_uri())
        width, window, image, loaded = browser.run(
            "return [document.documentElement.scrollWidth, innerWidth, document.images[0]"
            ".naturalWidth, performance.getEntriesByType('resource').filter(one => "
            "!one.name.startsWith('data:')).length]"
        )
    assert window == 360 >= width and image > 0
    assert loaded == 0 and not browser.complaints
