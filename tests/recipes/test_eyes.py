"""Tests the eye movement recipes: reading recordings, trials across films, and settings."""

import numpy as np
import pytest
import typer

from keras_dml.models.sequence_encoder import SIZES
from keras_dml.training import People, fronts
from zoo import across_films, compare, eye_baselines, eyes, recipe, sequences
from zoo.eye_lda import train as lda
from zoo.eye_qp_wl import search, train

SCREEN_M = np.float32(0.4), np.float32(0.225)


def record(pixels):
    """Builds a record in the format of the GazeCom data set."""
    return {
        "sequence": np.asarray(pixels, np.float32),
        "width": np.int32(1280),
        "height": np.int32(720),
        "distance_m": np.float32(0.45),
        "screen_width_m": SCREEN_M[0],
        "screen_height_m": SCREEN_M[1],
    }


def watchers(rng, people=12, films=6, windows=2, steps=40):
    """Simulates gaze velocities with horizontal and vertical speeds that differ between people."""
    found = People([], [], [])
    for person in range(people):
        for film in range(films):
            speed = 3.0 ** np.array([person % 4, person // 4])
            signal = speed * rng.normal(size=(windows * steps, 2))
            found += People([signal.astype(np.float32)], [f"p{person:02}"], [f"film {film}"])
    return found


def test_the_edge_of_the_screen_is_at_its_visual_angle():
    angle = eyes.degrees(record([[1280, 360], [640, 720], [640, 360]]))
    expected = [[np.degrees(np.arctan(0.2 / 0.45)), 0], [0, np.degrees(np.arctan(0.25))], [0, 0]]
    np.testing.assert_allclose(angle, expected, rtol=0, atol=1e-5)


def test_gaze_far_outside_of_the_screen_is_lost():
    angle = eyes.degrees(record([[1300, 360], [3270, 360], [640, -3390], [np.nan, np.nan]]))
    assert np.isnan(angle).all(axis=1).tolist() == [False, True, True, True]


def test_velocities_are_per_second_and_zero_where_the_eye_is_lost():
    gaze = np.array([[0, 0], [1, 2], [np.nan, np.nan], [5, 5], [5, 6]])
    found = eyes.velocities(gaze, rate_hz=250)
    np.testing.assert_array_equal(found, [[250, 500], [0, 0], [0, 0], [0, 250]])


def test_a_lower_rate_averages_blocks_and_draws_nothing_through_a_blink():
    gaze = np.array([[0, 0], [2, 4], [1, 1], [np.nan, np.nan], [9, 9]])
    np.testing.assert_array_equal(eyes.block_means(gaze, 2), [[1, 2], [np.nan, np.nan]])
    np.testing.assert_array_equal(eyes.block_means(gaze, 1), gaze)


def binocular(steps=20):
    """Builds a DIEM recording in which the eye tracker loses the right eye in frame 10."""
    x = np.arange(steps, dtype=np.float32)
    sequence = np.stack([600 + x, 400 + x, 590 + x, 402 + x, 0 * x + 1000, 0 * x + 2000], axis=1)
    event = np.ones((steps, 2), np.int8)
    sequence[10, [2, 3, 5]], event[10, 1] = 0, 0
    return eyes.binocular(sequence, event)


def test_both_eyes_have_velocities_pupils_and_disparity():
    found = dict(zip(eyes.BOTH_CHANNELS, binocular()[0], strict=True))
    for name in ("left vx", "left vy", "right vx", "right vy"):
        assert found[name] == 30
    assert found["left pupil"] == 0 and found["right pupil"] == pytest.approx(np.log(2))
    assert (found["disparity x"], found["disparity y"]) == (10, -2)


def test_an_eye_that_is_lost_is_zero_with_the_frames_around_it():
    seen = dict(zip(eyes.BOTH_CHANNELS, binocular().T, strict=True))
    lost = np.flatnonzero(seen["right seen"] == 0)
    assert lost.tolist() == [7, 8, 9, 10, 11]  # frames 8 to 12, because frame 0 has no velocity
    assert (seen["left seen"] == 1).all()
    for name in ("right vx", "right vy", "right pupil", "disparity x", "disparity y"):
        assert (seen[name][lost] == 0).all() and (seen[name][:6] != 0).all()


@pytest.mark.parametrize("place, value", [(0, 3270.0), (1, -3270.0), (4, 0.0)])
def test_overflows_and_missing_pupils_are_lost_frames(place, value):
    sequence = np.full((9, 6), 500, np.float32)
    sequence[4, place] = value
    found = eyes.binocular(sequence, np.ones((9, 2)))
    assert found[3, eyes.BOTH_CHANNELS.index("left seen")] == 0
    assert found[3, eyes.BOTH_CHANNELS.index("right seen")] == 1


def test_one_of_two_eyes_says_nothing_of_the_other():
    (left,) = eyes.of_eye([binocular()], "left")
    assert (left[:, :4] == binocular()[:, :4]).all() and (left[:, 4:] == 0).all()
    (right,) = eyes.of_eye([binocular()], "right")
    assert (right[:, [0, 1, 2, 3, 8, 9]] == 0).all()


def test_people_of_one_film_are_left_out():
    some = People([1, 2, 3], ["a", "a", "b"], ["x", "y", "x"])
    assert eyes.of_several_films(some).subjects == ["a", "a"]


def test_the_front_bounds_velocities_at_each_scale():
    signal = np.array([[3, -50], [0, 1e9]], np.float32)
    (found,) = fronts.outputs([eyes.slow_and_fast], [signal])
    np.testing.assert_allclose(found, np.tanh(np.c_[signal / 3, signal / 50]), rtol=1e-5)


def test_nobody_is_enrolled_by_the_film_of_the_probe():
    people = People([], ["a", "a", "b", "b", "c"], ["x", "y", "x", "y", "y"])
    distances = np.arange(25.0).reshape(5, 5)
    found = across_films.trials_of(distances, people)
    rows = list(zip(found.probes.tolist(), found.claims.tolist(), found.scores, strict=True))
    by_x = [("a", "a", 1), ("a", "b", 3), ("a", "c", 4), ("b", "a", 11), ("b", "b", 13)]
    by_x += [("b", "c", 14)]
    by_y = [("a", "a", 5), ("a", "b", 7), ("b", "a", 15), ("b", "b", 17), ("c", "a", 20)]
    by_y += [("c", "b", 22)]
    assert rows == by_x + by_y
    assert len(set(found.recordings.tolist())) == 5


def test_the_papers_figures_take_one_window_of_a_film():
    people = People([], ["b", "a", "a", "b", "b"], ["x", "y", "y", "x", "y"])
    assert sorted(across_films.first_of_each_film(people)) == [0, 1, 4]


@pytest.mark.slow
def test_closed_forms_tell_people_apart_in_folds_without_them(rng):
    windows = watchers(rng).windows(40)
    for closed_form in (
        eye_baselines.quantile_distance,
        eye_baselines.log_euclidean,
        lambda known: eye_baselines.discriminant_distance(known, (0, 1)),
    ):
        found = across_films.over_folds(windows, eye_baselines.by_fold(closed_form, windows))
        (auc, *_) = [row for row in found.headline["rows"] if row["metric"] == "auc"]
        assert auc["value"] > 0.9 and found.headline["people"] == 12
        assert found.headline["gallery"] == 2 and found.headline["probes"] == len(windows.signals)


def test_a_closed_form_knows_nobody_of_its_fold(rng):
    windows, seen = watchers(rng).windows(40), []

    def closed_form(known):
        seen.append(set(known.subjects))
        return None

    eye_baselines.by_fold(closed_form, windows)
    groups = across_films.groups(windows)
    assert [set(windows.subjects) - known for known in seen] == [set(fold) for fold in groups]


def test_people_of_other_experiments_are_no_imposters():
    people = People([], ["diem2s1", "diem2s2", "diem3s1"] * 2, ["x"] * 3 + ["y"] * 3)
    found = across_films.trials_of(np.zeros((6, 6)), people)
    alike = eye_baselines.within_experiments(found)
    assert len(found.scores) == 18 and len(alike.scores) == 10 and alike.genuine.sum() == 6


def test_discriminants_are_a_model_of_both_scales(rng, monkeypatch):
    monkeypatch.setattr(eyes, "WINDOW", 40)
    monkeypatch.setattr(lda, "STRIDE", 20)
    monkeypatch.setattr(lda, "LAGS", (0, 1))
    monkeypatch.setattr(lda, "DISCRIMINANTS", 3)
    some = watchers(rng, people=6)
    between = across_films.of_encoder(lda.fitted(some.select({f"p{i:02}" for i in range(4)})))
    found = between(some.signals)  # distances are negated cosines
    np.testing.assert_allclose(np.diag(found), -1, rtol=0, atol=1e-6)
    assert found.min() > -1 - 1e-6 and found.max() > -0.5


@pytest.mark.slow
def test_a_recipe_trains_an_encoder_behind_the_front(rng, tmp_path, monkeypatch):
    monkeypatch.setitem(SIZES, "edge", (4, 6))
    monkeypatch.setattr(sequences, "STEPS_PER_EPOCH", 1)
    run = recipe.Run("eye_qp_wl", tmp_path, tmp_path, 1, 0)
    monkeypatch.setattr(train, "PAIRS", 3)
    monkeypatch.setattr(train, "LENGTH", 64)
    settings = train.Settings(duration=2.0)
    encoder = train.trained(run, "qp_wl", watchers(rng, people=4), settings)
    assert run.minutes > 0 and run.steps == 1
    assert encoder.input_shape == (None, None, 2)
    normalization = encoder.get_layer("normalization")
    assert normalization.mean.shape == (4,)
    assert (normalization.stddev.numpy() < 1).all()  # the front end bounds the values


def test_every_variant_is_another_setting():
    settings = {train.Settings(**changed) for changed in train.VARIANTS.values()}
    assert len(settings) == len(train.VARIANTS) and train.Settings() in settings


def test_the_grid_of_every_method_has_the_sharpness_of_its_loss(rng, tmp_path, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        sequences, "train", lambda run, method, people, **given: seen.update({method: given})
    )
    run = recipe.Run("eye_qp_wl", tmp_path, tmp_path, 1, 0)
    for method in ("qp_wl", "qp_npl"):
        changed = train.VARIANTS["loss four times as sharp"]
        train.trained(run, method, watchers(rng, people=4), train.Settings(**changed))
    assert {method: given["loss"] for method, given in seen.items()} == {
        "qp_wl": {"scale": 4.0},
        "qp_npl": {"scale": 4 * sequences.NPAIR_SCALE},
    }


def lines(method="qp_wl"):
    """Returns search results in which one variant is better on folds 1 to 3 only."""
    areas = {"": (0.5, 0.8), "better on the first three": (0.9, 0.7)}
    return [
        {"method": method, "variant": name, "steps": 9, "seed": 0, "pair": pair, "auc": list(both)}
        for name, both in areas.items()
        for pair in range(3)
    ]


def test_a_fold_takes_the_settings_that_were_best_on_its_partner(tmp_path):
    path = tmp_path / "search.csv"
    path.write_text(compare.as_csv(search.table(lines())))
    variants, of_all = train.choose_variants("qp_wl", path)
    better = "better on the first three"
    assert variants == ["", "", "", better, better, better] and of_all == better


def test_a_table_has_no_half_searched_variant():
    assert search.table(lines()[:-1])["variant"] == [""]


def test_training_before_a_search_is_refused(tmp_path):
    path = tmp_path / "search.csv"
    with pytest.raises(FileNotFoundError, match=r"zoo.eye_qp_wl.search` first"):
        train.choose_variants("qp_wl", path)
    path.write_text(compare.as_csv(search.table(lines())))
    with pytest.raises(ValueError, match="--method mp_npl"):
        train.choose_variants("mp_npl", path)


def test_a_search_repeats_no_run(tmp_path, monkeypatch):
    done = []

    def run_once(method, variant, pair, steps, seed, out):
        done.append((method, variant, pair))
        return [0.5, 0.6]

    monkeypatch.setattr(search, "run_once", run_once)
    monkeypatch.setattr(train, "SEARCHED", tmp_path / "figures" / "search.csv")
    for _ in range(2):
        search.main(out=tmp_path, steps=5, seed=0, method=["qp_cls"], variant=["", "half as long"])
    assert len(done) == len(set(done)) == 6
    assert train.SEARCHED.read_text().startswith("method,variant,steps,fold 1,fold 2")


@pytest.mark.parametrize("given", [{"method": ["qp"]}, {"variant": ["lr"]}])
def test_a_search_for_what_is_not_there_is_refused(given, tmp_path):
    with pytest.raises(typer.BadParameter, match="must be one of"):
        search.main(out=tmp_path, **given)
    assert not list(tmp_path.iterdir())
