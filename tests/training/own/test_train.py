"""Tests that `train` writes a model into a folder with the same files as the folders of the zoo."""

import json
import shutil

import numpy as np
import pytest

import keras_dml
from keras_dml import quality, training, zoo
from keras_dml._backend import ops
from keras_dml.training.own import budget, kinds
from keras_dml.zoo import schema
from tests.training.own.conftest import STEPS, WINDOW, recordings_of

METHODS = ("quantiles", "quantile_lda", "log_euclidean", "lda")


def weights(folder):
    model = zoo.load(str(folder))
    return [ops.convert_to_numpy(one) for one in model.weights]


@pytest.mark.slow
def test_the_folder_is_loaded_like_one_of_the_zoo(made):
    folder = str(made.folder)
    model = zoo.load(folder)
    assert zoo.check(folder) < 1e-5
    assert not schema.problems(made.card) and made.card["name"] == "phone"
    recordings, people = recordings_of(6)
    z = keras_dml.embed(model, recordings, rate_hz=20)
    scores = keras_dml.distance(model, z, z)
    np.fill_diagonal(scores, np.inf)
    nearest = np.array(people)[scores.argmin(axis=1)]
    assert (nearest == people).mean() > 0.8
    assert 'zoo.load("./phone")' in (made.folder / "README.md").read_text()


def test_the_leaderboard_has_all_methods_the_chosen_one_first(made):
    rows = json.loads((made.folder / "leaderboard.json").read_text())
    assert rows == made.leaderboard
    assert [row["chosen"] for row in rows] == [True] + [False] * (len(rows) - 1)
    scorings = ("", "_mean", "_two_covariance")
    names = [f"{method}{scoring}" for method in METHODS for scoring in scorings]
    names.remove("quantiles_mean")  # the distance of this method has no mean
    names.remove("quantiles_two_covariance")  # the scoring needs vectors
    assert sorted(row["method"] for row in rows) == sorted(names)
    assert rows == sorted(rows, key=lambda row: row["eer"])
    lines = (made.folder / "leaderboard.csv").read_text().splitlines()
    assert len(lines) == 1 + len(rows) and lines[0].startswith("method,what,chosen,")
    assert f"{rows[0]['method']} *" in str(made)
    headline, note, *table = [line for line in str(made).splitlines() if line]
    assert headline.startswith("phone: EER") and headline.endswith(made.card["choice"])
    assert "chosen from" in note and len(table) == 1 + len(rows)
    others = [one["name"] for one in made.card["baselines"]]
    base = made.method.removesuffix("_mean").removesuffix("_two_covariance")
    different = [row["method"] for row in rows if not row["method"].startswith(base)]
    assert others and sorted(others) == sorted(different)


def test_the_card_has_the_scoring_and_its_rivals(made):
    scoring, method = made.card["scoring"], made.method
    suffix = "" if scoring["name"] == "nearest" else f"_{scoring['name']}"
    assert method in [f"{name}{suffix}" for name in METHODS]
    assert 1 <= len(scoring["rivals"]) <= 2
    assert {rival["kind"] for rival in scoring["rivals"]} == {"same model"}
    assert {row["scoring"] for row in made.card["thresholds"]} == {scoring["name"]}
    assert f"the scoring `{scoring['name']}`" in (made.folder / "README.md").read_text()


@pytest.mark.slow
def test_the_headline_says_how_its_methods_were_chosen(made, train):
    page = (made.folder / "README.md").read_text()
    assert "by models that were not trained on people of the group" in made.card["choice"]
    assert made.card["choice"] in page and "is too optimistic" in page
    few = train(people=4, name_people=True)
    assert "by a model that was trained on people of the first group" in few.card["choice"]
    page = (few.folder / "README.md").read_text()
    assert few.card["choice"] in page
    assert "person 3). The figures are from cross-validation." in page


def test_a_gallery_refuses_unfit_recordings_with_a_reason(made, tmp_path):
    recordings, _ = recordings_of(1)
    flat, loose = recordings[1].copy(), recordings[2].copy()
    flat[:, 1] = 0.5
    loose[40:, 2] = 1.5
    with keras_dml.Gallery(tmp_path / "people.db", model=str(made.folder)) as gallery:
        found = gallery.enroll("ann", [recordings[0], flat, loose])
    assert found.kept == (0,)
    assert "channel y is flat: its value is always 0.5" in found.refused[1]
    assert "channel z is stuck: its value repeats for 79 steps from step 40" in found.refused[2]


def test_unfit_recordings_are_not_used_for_decisions(made, tmp_path):
    recordings, _ = recordings_of(1)
    flat = recordings[1].copy()
    flat[:, 1] = 0.5
    observed, said = [recordings[2], flat], "Recording 1 is not fit .* channel y is flat"
    with keras_dml.Gallery(tmp_path / "people.db", model=str(made.folder)) as gallery:
        gallery.enroll("ann", recordings[:1])
        assert list(gallery.unfit([*observed, flat[:3]])) == [1, 2]
        assert gallery.verify("ann", observed[:1], threshold=1e9).accepted
        with pytest.raises(ValueError, match=said):
            gallery.identify(observed, threshold=1e9)
        for what in (gallery.calibrate, gallery.evaluate, gallery.calibrate_listening):
            with pytest.raises(ValueError, match=said):
                what(observed, ["ann", "bob"])
        with pytest.raises(ValueError, match=said):
            gallery.verify("ann", observed, threshold=1e9)
        with pytest.raises(ValueError, match=said):
            gallery.reject("ann", observed)


@pytest.mark.parametrize("prefix", ["person", "volunteer"])
def test_calibration_on_people_of_the_training_warns(made, tmp_path, recwarn, prefix):
    recordings, people = recordings_of(20, seed=1)
    people = [name.replace("person", prefix) for name in people]
    with keras_dml.Gallery(tmp_path / "people.db", model=str(made.folder)) as gallery:
        gallery.calibrate(recordings, people, 0.5)
    told = [str(one.message) for one in recwarn if "was trained with" in str(one.message)]
    assert len(told) == (prefix == "person")
    assert all("with 6 of these 20 people, such as 'person 0'" in one for one in told)


def test_the_card_and_the_page_contain_no_names(made):
    data = made.card["data"]
    assert data["train_subjects"] == [str(i + 1) for i in range(len(data["digests"]["people"]))]
    for name in ("card.json", "README.md"):
        assert "person 0" not in (made.folder / name).read_text()
    assert "made with 6 people. The figures" in (made.folder / "README.md").read_text()


def test_recordings_that_are_left_out_are_named(made):
    assert list(made.refused) == ["walk 24"] and "flat" in made.refused["walk 24"]
    assert "1 of 25 recordings were unusable and were left out." in made.card["limits"]


def test_the_card_gives_the_supported_rates(made):
    found = made.card["support"]
    assert found["people"] == 6 and 3 <= found["independent"] <= 6
    assert found["strictest"] == pytest.approx(3 / found["independent"], rel=0.05)
    assert 6 < found["people_needed"]["0.01"][0] < found["people_needed"]["0.01"][1] == 600
    assert "6 people in groups carry as much" in made.card["limits"][0]
    assert "are not guaranteed" in made.card["limits"][0]


@pytest.mark.slow
def test_the_page_explains_carried_thresholds(train, monkeypatch):
    first = kinds._METHODS["sequences"]
    monkeypatch.setitem(kinds._METHODS, "sequences", lambda task: first(task)[:1])
    found = train(people=30)
    row, folder = found.card["thresholds"][1], found.folder
    assert row["far"] == 0.05 and "is trained on all people" in row["carried"]
    assert row["method"] in ("counted over people", "extrapolated by a generalized Pareto tail")
    page = (folder / "README.md").read_text()
    assert "thresholds come from the models of the groups" in page
    assert "who were not used to train the model" not in page
    assert "30 people in groups carry as much" in page
    assert "threshold for a FAR of 5 % was set with the trials of 30 people" in page
    assert row["certificate"]["independent"] > 15
    recordings, people = recordings_of(40)
    known, others = recordings[:120], recordings[120:]
    model = zoo.load(str(folder))
    distances = keras_dml.distance(
        model, keras_dml.embed(model, others), keras_dml.embed(model, known)
    )
    assert (distances <= row["value"]).mean() < 0.2


def test_too_few_people_give_a_model_without_an_error_rate(train):
    found = train(people=3, name_people=True)
    assert found.method == "log_euclidean" and found.leaderboard == []
    assert found.card["headline"] == {"unmeasured": str(found)}
    assert "No error rate is given, because there are 3 people" in str(found)
    assert found.card["thresholds"] == [] and found.card["figures"] == []
    assert "No error rate is given" in (found.folder / "README.md").read_text()
    assert zoo.check(str(found.folder)) < 1e-5
    page = (found.folder / "README.md").read_text()
    assert "made with 3 people (person 0, person 1, person 2)." in page
    assert "was trained on" not in page and "from cross-validation" not in page


def test_one_person_is_enough_for_a_model(train):
    found = train(people=1)
    assert quality.gate_of(zoo.load(str(found.folder))).potato is None


@pytest.mark.slow
def test_a_resumed_training_gives_the_same_model(train, tmp_path, monkeypatch, with_small_network):
    whole = train(steps=4, out=tmp_path / "whole" / "phone")
    fit, done = training.fit, []
    unfinished = tmp_path / "phone" / "unfinished"

    def stopped(*given, **options):
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(options["folder"].name)
        return fit(*given, **options)

    with monkeypatch.context() as patch:
        patch.setattr(training, "fit", stopped)
        with pytest.raises(KeyboardInterrupt):
            train(steps=4)
    assert done == ["fold_1"] and (unfinished / "fold_1").is_dir()
    with pytest.raises(ValueError, match="other recordings or settings"):
        train(steps=4, seed=1, resume=True)
    found = train(steps=4, resume=True)
    assert not unfinished.exists() and "steps=4" in found.card["recipe"]["command"]
    of_network = [
        {**row, "seconds": 0}
        for one in (whole, found)
        for row in one.leaderboard
        if row["method"] == "qp_wl"
    ]
    assert of_network[0] == of_network[1]
    for one, other in zip(weights(whole.folder), weights(found.folder), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_a_network_is_left_out_if_the_time_is_too_short(train, monkeypatch):
    monkeypatch.setattr(budget, "_measure_times", lambda *_: (0.0, 60.0))
    found = train(steps=None, minutes=2)
    assert [row["method"] for row in found.leaderboard] != [] and found.method != "qp_wl"
    assert any("qp_wl was left out" in one and "too short" in one for one in found.card["limits"])


def test_other_files_in_the_folder_are_not_changed(train, tmp_path):
    (tmp_path / "README.md").write_text("of something else")
    with pytest.raises(ValueError, match="holds files but no model"):
        train(out=tmp_path)
    assert (tmp_path / "README.md").read_text() == "of something else"
    with pytest.raises(ValueError, match="is a file"):
        train(out=tmp_path / "README.md")


@pytest.mark.slow
def test_a_model_is_replaced_only_when_asked(train):
    first = train(people=4)
    assert "roc_det.png" in (first.folder / "README.md").read_text()
    before = (first.folder / "card.json").read_bytes()
    with pytest.raises(FileExistsError, match="`replace=True`"):
        train(people=2)
    with pytest.raises(FileExistsError, match="`replace=True`"):
        train(people=2, resume=True)  # there is no interrupted training to resume
    assert (first.folder / "card.json").read_bytes() == before
    again = train(people=2, replace=True)
    assert "roc_det.png" not in (first.folder / "README.md").read_text()
    assert len(again.card["data"]["train_subjects"]) == 2 and again.folder == first.folder
    assert zoo.check(str(again.folder)) < 1e-5


def test_no_model_is_made_if_one_person_remains(train, tmp_path):
    """In the first case, three of four people have only flat recordings.

    Then the test trains on recordings that are nearly all flat.
    """
    recordings, owners = recordings_of(4)
    flat = [one if i < 4 else np.zeros((STEPS, 3)) for i, one in enumerate(recordings)]
    with pytest.raises(ValueError, match="12 of 16 recordings were left out, and 1 of 4 people"):
        train(recordings=flat, owners=owners)
    many = [*recordings[::8], *(np.full((STEPS, 3), i) for i in range(12))]
    with pytest.raises(ValueError, match="12 of 14 recordings were left out, and 2 of 3 people"):
        train(recordings=many, owners=[*owners[::8], *owners[:12]])
    assert not (tmp_path / "phone").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "walks"}, "`kind` is 'walks', but it must be one of"),
        ({"rate_hz": 0}, "`rate_hz` is 0, .*positive number"),
        ({"minutes": float("nan")}, "`minutes` is nan, .*positive number"),
        ({"steps": -1}, "`steps` must be at least 0"),
        ({"window": "long"}, "`window` is 'long', .*positive number of seconds"),
        ({"window": 0.1}, "at least 8 steps are needed"),
        ({"window": 60.0}, "a window, which has 1,200"),
        ({"channels": ("x", "x", "y")}, "each channel once"),
        ({"units": ("g", "g")}, "`units` has length 2, .* 3 channels"),
        ({"owners": ["ann"]}, "`people` has length 1, .* 16 recordings"),
        ({"recordings": [], "owners": []}, "`recordings` is empty"),
        ({"names": ["a"] * 16}, "'a' twice"),
        ({"owners": ["ann", "\n"] * 8}, "printable"),
        ({"recordings": [np.zeros((STEPS, 3))] * 16}, "None of the 16 recordings can be used"),
    ],
)
def test_invalid_arguments_fail_before_any_work(train, tmp_path, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        train(**options)
    assert not (tmp_path / "phone").exists()


def test_the_automatic_window_fits_nearly_all_recordings(train):
    found = train(people=2, window=None)
    assert found.card["input"]["length"] == [STEPS, None]
    assert WINDOW * 20 < STEPS


def test_a_gate_of_another_file_is_refused(made, tmp_path):
    folder = tmp_path / "phone"
    shutil.copytree(made.folder, folder)
    assert quality.gate_of(zoo.load(str(folder))).potato is not None
    (folder / quality.FILE).write_bytes(b"another")
    with pytest.raises(ValueError, match="SHA-256"):
        quality.gate_of(zoo.load(str(folder)))
    (folder / quality.FILE).unlink()
    with pytest.raises(FileNotFoundError):
        quality.gate_of(zoo.load(str(folder)))
