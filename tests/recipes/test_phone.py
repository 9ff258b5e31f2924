"""Tests the phone gait recipe: orientation of the phone, groups of people, choice of settings."""

import csv
import functools
import json

import numpy as np
import pytest
import typer

from keras_dml import inference
from keras_dml.models.sequence_encoder import SIZES
from keras_dml.training import People, fronts, measure
from zoo import phone, phone_baselines, recipe, sequences
from zoo.evidence import Trained
from zoo.phone_gait_qp_wl import evidence, search, train

NAMES = "abcdefghijkl"


def walk(person, rng, steps=520):
    """Simulates a walk with a phone in a random orientation.

    The period and the amplitudes of the strides differ between people.
    """
    own = np.random.default_rng(person)
    phase = 2 * np.pi * np.arange(steps) / (20 + person) + rng.uniform(0, 6)
    a, b = own.uniform(0.3, 1, 2)
    moved = [
        3 * np.sin(phase - 0.6),
        a * np.cos(2 * phase),
        2 * np.sin(phase) + b * np.sin(2 * phase),
    ]
    moved = np.stack(moved, axis=1) + 0.05 * rng.normal(size=(steps, 3)) + [0, 0, phone.GRAVITY]
    return phone.turned([moved], rng)[0]


def walkers(names=NAMES, each=4):
    rng = np.random.default_rng(3)
    return People(
        [walk(NAMES.index(one), rng) for one in names for _ in range(each)],
        [one for one in names for _ in range(each)],
        [number for _ in names for number in range(each)],
    )


def by_period(probes, enrolled):
    """Computes differences of the strongest frequencies, which no rotation of the phone changes."""

    def strongest(windows):
        found = np.stack(fronts.outputs(phone.front("magnitude"), windows))[..., 0]
        return np.abs(np.fft.rfft(found, n=8192, axis=1)).argmax(axis=1)

    return np.abs(np.subtract.outer(strongest(probes), strongest(enrolled))) + 1e-3


def by_sensor(probes, enrolled):
    """Computes distances of the means of x, y and z, which depend on the phone's orientation."""
    own, others = (np.mean(windows, axis=1) for windows in (probes, enrolled))
    return np.linalg.norm(own[:, None] - others, axis=-1)


# ---- walks --------------------------------------------------------------------------------------


def test_walks_are_read_at_their_rate_and_numbered(monkeypatch):
    def record(person, number):
        sequence = np.arange(12, dtype=np.float32).reshape(4, 3)
        return {"sequence": sequence, "subject": person, "walk": np.int32(number)}

    splits = {"train": [record(b"ID02", 0), record(b"ID02", 1)], "test": [record(b"ID04", 0)]}
    monkeypatch.setattr(phone.people, "read", lambda name: splits)
    found = phone.walks()
    assert (found.subjects, found.sessions) == (["ID02", "ID02", "ID04"], [0, 1, 0])
    np.testing.assert_array_equal(found.signals[0], [[0, 1, 2], [6, 7, 8]])


def test_the_later_half_of_a_persons_walks_is_the_second_block():
    subjects, numbers = ["a"] * 4 + ["b"] * 3, [0, 1, 1, 2, 5, 3, 4]
    found = phone.blocks(People([np.zeros((1, 3))] * 7, subjects, numbers))
    assert found.sessions == [1, 2, 2, 2, 2, 1, 2]


def test_turned_windows_keep_their_lengths_and_turn_by_themselves(rng):
    windows = np.repeat(rng.normal(size=(1, 30, 3)), 400, axis=0)
    found = phone.turned(windows, rng)
    lengths = np.linalg.norm(windows, axis=-1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), lengths, rtol=1e-5)
    np.testing.assert_allclose(found.mean(axis=0), 0, rtol=0, atol=0.5)  # uniform


# ---- groups -------------------------------------------------------------------------------------


def test_a_group_is_measured_in_units_of_others_and_also_turned():
    people = walkers()
    group = phone.Group(by_period, people, ["a", "b", "c"])
    scaled = phone.Group(lambda *given: 7 * by_period(*given), people, ["a", "b", "c"])
    for turn in (False, True):
        trials = group.trials(turn)
        assert trials.scores[trials.genuine].max() < trials.scores[~trials.genuine].min()
        np.testing.assert_allclose(scaled.trials(turn).scores, trials.scores, rtol=1e-6)
        np.testing.assert_allclose(trials.scores, group.trials(False).scores, rtol=1e-2)


def test_turned_probes_lie_beside_enrolled_walks_as_recorded():
    group = phone.Group(by_sensor, walkers(), ["a", "b", "c"])
    assert (np.diag(group.distances(False)) == 0).all()
    assert np.diag(group.distances(True)).min() > 0


def test_so_many_walks_are_enrolled_from_the_first():
    group = phone.Group(by_period, walkers("abcd", each=6), ["a", "b"])  # two windows per walk
    counts = [set(group.trials(False, walks).enrolled.tolist()) for walks in (1, 3, None)]
    assert counts == [{2}, {6}, {6}]
    single = group.pairs(False)
    assert len(single.scores) == 12 * 12 and single.genuine.sum() == 2 * 6 * 6


def test_each_group_is_measured_by_its_own_method():
    people, asked = walkers(), []

    def method(number):
        def between(probes, enrolled):
            asked.append((number, len(probes)))
            return by_period(probes, enrolled)

        return between

    found = phone.measured([method(number) for number in range(phone.GROUPS)], people)
    assert [number for number, _ in asked] == list(range(phone.GROUPS))
    tested = [set(group.windows.subjects) for group in found]
    assert tested == [set(group) for group in phone.groups(people)]
    measured = phone.measurement(found)
    assert measured.headline["people"] == 12 and measured.headline["gallery"] == 2
    assert phone.scores(found, turn=True).shape == measured.trials.scores.shape
    rows = phone.rows(found)
    own = [row["protocol"] for row in rows if "probes" in row["protocol"]]
    assert own[:3] == [
        "single pairs, probes as recorded",
        "1 walk enrolled, probes as recorded",
        "3 walks enrolled, probes as recorded",
    ]
    assert own[-1] == "all earlier walks enrolled, probes turned" and len(own) == 8


@pytest.mark.parametrize("name", phone_baselines.CLOSED_FORMS)
def test_closed_forms_tell_walkers_apart_however_the_phone_lies(name, monkeypatch):
    monkeypatch.setattr(phone, "GROUPS", 2)
    monkeypatch.setattr(phone, "STRIDE", 250)
    found = phone_baselines.closed_form(name, walkers())
    for turn in (False, True):
        scores = phone.scores(found, turn)
        genuine = phone.measurement(found).trials.genuine
        assert scores[genuine].mean() < 0.7 * scores[~genuine].mean()


# ---- training -----------------------------------------------------------------------------------


def tiny(monkeypatch):
    """Reduces training to two steps per epoch and the network to two convolutions."""
    monkeypatch.setitem(SIZES, "edge", (4, 6))
    monkeypatch.setattr(sequences, "STEPS_PER_EPOCH", 2)


@pytest.mark.slow
def test_an_encoder_takes_x_y_z_and_does_not_mind_how_the_phone_lies(monkeypatch, tmp_path, rng):
    tiny(monkeypatch)
    settings = train.Settings(tempos=(1.0, 1.1), gain=0.1, noise=0.1, duration=2.0)
    run = recipe.Run("phone", tmp_path, tmp_path, 1, 0)
    people = walkers("abcd")
    encoder = train.trained(run, people, settings)
    assert run.minutes > 0 and encoder.input_shape == (None, None, 3)
    window = people.signals[0][: phone.WINDOW]
    given = np.stack([window, *phone.turned([window] * 3, rng)])
    found = inference.embed(encoder, given, progress=False)
    np.testing.assert_allclose(found, np.repeat(found[:1], 4, axis=0), rtol=0, atol=1e-3)
    assert np.ptp(inference.embed(encoder, people.signals, progress=False), axis=0).max() > 0.01


def test_turned_windows_are_turned_each_by_itself(rng):
    settings = train.Settings(horizontal=None, turned=True)
    batch = np.repeat(rng.normal(size=(1, 20, 3)), 4, axis=0)
    found = train.vary(batch, rng, settings)
    np.testing.assert_allclose(
        np.linalg.norm(found, axis=-1), np.linalg.norm(batch, axis=-1), rtol=1e-5
    )
    assert np.abs(found[0] - found[1]).max() > 0.1


def test_every_variant_changes_the_settings():
    for name in train.VARIANTS:
        settings = train.settings_of(name)
        assert train.PAIRS <= 17 * len(settings.tempos)  # 17 people are outside of two groups


def lines_of(scores):
    """Returns search results for all pairs of groups, with an EER for each variant and group."""
    return [
        {
            "variant": variant,
            "pair": pair,
            "seed": 0,
            "steps": 9,
            "seconds": 60,
            "figures": {str(g): {search.CHOICE: own[g], "pooled": 0.1} for g in (pair, pair + 3)},
        }
        for variant, own in scores.items()
        for pair in range(3)
    ]


def table_at(path, scores):
    path.write_text(search.as_csv(search.table(lines_of(scores))))
    return path


def test_a_groups_settings_are_the_best_on_its_partner(tmp_path):
    first, second = list(train.VARIANTS)[:2]
    scores = {first: [0.1, 0.2, 0.1, 0.2, 0.2, 0.1], second: [0.2, 0.1, 0.2, 0.1, 0.1, 0.3]}
    path = table_at(tmp_path / "search.csv", scores)
    groups = [[name] for name in "abcdef"]
    of_groups, of_all = train.choose_variants(groups, path)
    assert of_groups == [second, second, first, first, second, first]
    assert of_all == first
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0][f"{search.CHOICE} EER"]) == pytest.approx(0.15)
    assert rows[0]["minutes"] == "1.0" and rows[0]["runs"] == "3"


def test_a_variant_that_some_groups_lack_is_not_chosen(tmp_path):
    first, second = list(train.VARIANTS)[:2]
    found = lines_of({first: [0.2] * 6}) + lines_of({second: [0.1] * 6})[:2]
    path = tmp_path / "search.csv"
    path.write_text(search.as_csv(search.table(found)))
    assert train.choose_variants([[name] for name in "abcdef"], path) == ([first] * 6, first)


def test_without_a_search_nothing_is_chosen(tmp_path):
    with pytest.raises(FileNotFoundError, match="phone_gait_qp_wl.search"):
        train.choose_variants([], tmp_path / "search.csv")


def test_a_run_that_is_done_is_not_repeated(tmp_path, monkeypatch):
    variant, asked = next(iter(train.VARIANTS)), []

    def run_once(variant, pair, seed, steps, out):
        asked.append((variant, pair))
        return {pair: {search.CHOICE: 0.1}, pair + 3: {search.CHOICE: 0.2}}, 30.0

    monkeypatch.setattr(search, "run_once", run_once)
    given = {"out": tmp_path, "steps": 9, "seed": 0, "table_to": tmp_path / "search.csv"}
    search.main(**given, variant=[variant], pair=[1])
    search.main(**given, variant=[variant], pair=None)
    assert asked == [(variant, 1), (variant, 0), (variant, 2)]
    assert len((tmp_path / "runs.jsonl").read_text().splitlines()) == 3
    assert json.loads((tmp_path / "runs.jsonl").read_text().splitlines()[0])["pair"] == 1
    groups = [[name] for name in "abcdef"]
    assert train.choose_variants(groups, tmp_path / "search.csv") == ([variant] * 6, variant)


@pytest.mark.parametrize("given", [{"pair": [3]}, {"variant": ["axis"]}])
def test_a_search_for_what_is_not_there_is_refused(given, tmp_path):
    with pytest.raises(typer.BadParameter, match="must be one of"):
        search.main(out=tmp_path / "runs", **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_groups_are_measured_by_encoders_that_have_not_seen_them(tmp_path, monkeypatch):
    people, known, published = walkers(), [], []
    encoder = sequences.build_encoder("qp_wl", 3, phone.front("axes"), knots=4, halvings=0)

    def trained(run, walkers, settings):
        known.append((set(walkers.subjects), settings.horizontal))
        return encoder

    variants = list(train.VARIANTS)[:2]
    chosen = [variants[number % 2] for number in range(phone.GROUPS)], variants[1]
    monkeypatch.setattr(phone, "walks", lambda: people)
    monkeypatch.setattr(train, "trained", trained)
    monkeypatch.setattr(train, "choose_variants", lambda groups: chosen)
    monkeypatch.setattr(recipe.Run, "publish", lambda self, *given, **more: published.append(more))
    options = {"steps": 1, "seed": 0, "resume": False, "out": tmp_path}
    train.main(**options, publish_model=True)
    groups = [set(group) for group in phone.groups(people)]
    assert [set(NAMES) - seen for seen, _ in known] == [*groups, set()]
    assert [kind for _, kind in known] == ["both", "magnitude"] * 3 + ["magnitude"]
    assert published[0]["data"] == {"train_subjects": list(NAMES)}
    assert len(published[0]["folds"]) == phone.GROUPS
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert any("turned" in row["protocol"] for row in figures)
    monkeypatch.setattr(
        phone_baselines, "CLOSED_FORMS", {"spectra": phone_baselines.CLOSED_FORMS["spectra"]}
    )
    found = evidence.evidence(Trained(encoder, [encoder] * phone.GROUPS))
    assert found.measured.headline["people"] == 12
    of_files = evidence.over_folds(
        [functools.partial(measure.pairwise_distances, encoder)] * phone.GROUPS
    )
    np.testing.assert_allclose(of_files.trials.scores, found.measured.trials.scores, rtol=1e-4)
    card = found.card(recipe.about_model("phone_gait_qp_wl"))
    assert [one["name"] for one in card["baselines"]] == ["turned", "spectra"]
    rows = card["thresholds"]
    assert rows and all("cross-validation" in row["carried"] for row in rows)
    assert card["imposters"]["stddev"] > 0
