"""Tests the files, the captions and the style of all plots."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from keras_dml import reports
from keras_dml.reports import style


@pytest.fixture
def figure():
    with style.house_style():
        figure = style.new_figure("It grows", "Numbers from 0 to 2.", width=4, height=3)
        figure.subplots().plot([0, 1, 2])
    return figure


def test_a_figure_is_written_as_png_svg_and_csv(figure, tmp_path):
    paths = reports.save(figure, tmp_path / "new" / "growth", {"x": [0, 1], "y": [2.5, 3.0]})
    assert [path.name for path in paths] == ["growth.png", "growth.svg", "growth.csv"]
    with Image.open(paths[0]) as picture:
        assert picture.size == (600, 450)  # inches at 150 dpi
    assert paths[1].read_text().startswith("<?xml")
    assert paths[2].read_text().splitlines() == ["x,y", "0,2.5", "1,3.0"]
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(p.name for p in paths)


def test_the_same_figure_gives_the_same_bytes(figure, tmp_path):
    first, again = (reports.save(figure, tmp_path / name) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_an_interrupted_save_leaves_the_old_file(figure, tmp_path):
    kept = reports.save(figure, tmp_path / "growth")[0].read_bytes()
    with pytest.raises(ValueError):
        reports.save(figure, tmp_path / "growth", {"x": [0, 1], "y": [2.5]})  # unequal lengths
    assert (tmp_path / "growth.png").read_bytes() == kept
    assert not (tmp_path / "growth.csv").exists()


def test_a_path_that_is_not_a_file_is_refused_before_drawing(figure, tmp_path):
    (tmp_path / "growth.csv").mkdir()
    (tmp_path / "growth.csv" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"growth\.csv' is a folder"):
        reports.save(figure, tmp_path / "growth", {"x": [0]})
    assert [path.name for path in tmp_path.iterdir()] == ["growth.csv"]
    for stem in ("", f"{tmp_path}/new/", f"{tmp_path}/new/.."):
        with pytest.raises(ValueError, match="must end in a name"):
            reports.save(figure, stem)
    assert not (tmp_path / "new").exists()


def test_drawing_leaves_the_settings_of_the_caller_alone(figure, tmp_path):
    before = dict(mpl.rcParams)
    reports.save(figure, tmp_path / "growth")
    assert dict(mpl.rcParams) == before


def test_long_titles_and_captions_stay_inside():
    with style.house_style():
        figure = style.new_figure("many words " * 30, "said at length " * 40, width=6, height=6)
        figure.subplots()
        figure.draw_without_rendering()
        for text in (figure._suptitle, figure._supxlabel):
            assert text.get_window_extent().x1 <= figure.bbox.width


def test_genuine_and_imposter_differ_in_gray():
    lightness = [
        np.dot(to_rgb(color), [0.299, 0.587, 0.114]) for color in (style.GENUINE, style.IMPOSTER)
    ]
    assert abs(lightness[0] - lightness[1]) > 0.25


def test_every_method_has_a_different_color_and_dash():
    looks = list(style.METHODS.values())
    assert len({color for color, _ in looks}) == len({dash for _, dash in looks}) == len(looks)
    assert style.method_look("QP-WL", 3) == style.METHODS["QP-WL"]
    assert style.method_look("mine", 1) == style.method_look("yours", 1)


@pytest.mark.parametrize(
    ("words", "text"), [([3], "3"), (["a", "b"], "a and b"), ([1, 2, 3], "1, 2 and 3")]
)
def test_words_are_joined_as_in_a_sentence(words, text):
    assert style.join_words(words) == text


def test_pictures_need_neither_keras_nor_a_window_system():
    code = (
        "import sys; from keras_dml import evaluation, reports;"
        "v = evaluation.verification([0.1, 0.9], [True, False]); reports.verification_curves(v);"
        "print(sorted({'keras', 'tensorflow', 'jax', 'matplotlib.pyplot'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", reports.__all__)
def test_every_public_name_is_available_repeatedly(name):
    assert getattr(reports, name) is getattr(reports, name)
    assert name in dir(reports)


def test_an_unknown_name_raises():
    with pytest.raises(AttributeError, match="plot"):
        reports.plot  # noqa: B018
