"""Tests that `train` makes models of events, which have no rate, and that quantiles of channels are
compared by the Wasserstein distance."""

import json

import numpy as np
import pytest
from scipy import stats

import keras_dml
from keras_dml import edge, quality, training, zoo
from keras_dml.export import contract
from keras_dml.gallery.files import Reader, sorted_out
from keras_dml.training import People
from keras_dml.training.own import exports, files, kinds, sequences
from keras_dml.training.own.task import Task

CHANNELS, EVENTS, WINDOW = ("hold", "gap", "shift"), 40, 16


def typists(people, each=4, seed=0, events=EVENTS):
    """Returns events of people who differ in two times and in the frequency of a flag."""
    rng = np.random.default_rng(seed)
    recordings, owners = [], []
    for person in range(people):
        scales, rate = rng.uniform(0.05, 0.5, 2), rng.uniform(0.1, 0.6)
        for _ in range(each):
            times = rng.gamma(4, scales / 4, (events, 2))
            recordings.append(np.c_[times, rng.random(events) < rate].astype(np.float32))
            owners.append(f"person {person}")
    return recordings, owners


def write(folder, recordings, owners, header="time (s),hold (s),gap (s),shift"):
    for i, (values, person) in enumerate(zip(recordings, owners, strict=True)):
        (folder / person).mkdir(parents=True, exist_ok=True)
        table = np.c_[values[:, 1].cumsum(), values]
        path, form = folder / person / f"{i}.csv", ["%.4f", "%.4f", "%.4f", "%d"]
        np.savetxt(path, table, form, delimiter=",", header=header, comments="")


@pytest.fixture
def only_quantiles(monkeypatch):
    """Reduces the methods for sequences to the methods with quantiles."""
    of_sequences = sequences.methods

    def chosen(task):
        return [each for each in of_sequences(task) if each.name.startswith("quantile")]

    monkeypatch.setitem(kinds._METHODS, "sequences", chosen)


def test_the_quantile_distance_is_the_sum_of_wasserstein_distances_of_scipy():
    events, owners = typists(3, each=2, events=400)
    events = [values[:, :2] for values in events]
    people = People(events, owners, [1, 2] * 3)
    model = sequences.quantiles(Task(CHANNELS[:2], ("s", "s"), None, "sequences", 400), people)
    low, middle, high = np.quantile(np.concatenate(events), (0.25, 0.5, 0.75), axis=0)
    bounded = np.tanh((np.stack(events) - middle) / (high - low) * 1.349)
    expected = [[sum(map(stats.wasserstein_distance, x.T, y.T)) for y in bounded] for x in bounded]
    z = keras_dml.embed(model, events)
    # The quantile functions are linear between 18 knots, and SciPy compares step functions.
    np.testing.assert_allclose(keras_dml.distance(model, z, z), expected, rtol=0.05, atol=0.01)


def test_methods_for_events_use_lags_in_events():
    made = Task(CHANNELS, ("s", "s", "1"), None, "sequences", WINDOW)
    names = [method.name for method in kinds.methods(made)]
    assert names == ["log_euclidean", "lda", "quantiles", "quantile_lda", "qp_wl"]
    assert kinds.untrained(kinds.methods(made)).name == "quantiles"
    assert sequences.lags(made, 3) == (0, 1, 2, 4)
    assert made.length_in_words == "16 events" and made.length == 16


def test_events_of_few_people_become_a_model_of_quantiles(tmp_path, monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {})
    recordings, owners = typists(2, each=2)
    recordings[0][:, 2] = 0
    options = {"channels": CHANNELS, "rate_hz": None, "window": WINDOW, "steps": 0}
    trained = training.train(recordings, owners, out=tmp_path / "typing", **options)
    assert trained.method == "quantiles" and not trained.refused
    assert trained.card["input"]["rate_hz"] is None
    assert trained.card["quality"]["flags"] == ["shift"] and trained.card["quality"]["events"]


@pytest.mark.slow
def test_a_folder_of_events_becomes_a_model_without_a_rate(tmp_path, only_quantiles, monkeypatch):
    monkeypatch.setattr(exports, "QUANTIZATIONS", {})
    recordings, owners = typists(4)
    recordings[0][:, 2] = 0
    recordings[1] = recordings[1][:1]
    recordings[2] = recordings[2][: WINDOW - 1]
    write(tmp_path / "keys", recordings, owners)
    trained = training.train_folder(
        tmp_path / "keys", events=True, window=WINDOW, steps=0, out=tmp_path / "typing"
    )
    assert set(trained.refused) == {"person 0/1.csv", "person 0/2.csv"}
    described = trained.card["input"]
    assert described["channels"] == list(CHANNELS) and described["rate_hz"] is None
    assert trained.card["quality"]["flags"] == ["shift"] and trained.card["quality"]["events"]
    assert {row["method"] for row in trained.leaderboard} == {"quantiles", "quantile_lda"}
    page = (tmp_path / "typing" / "README.md").read_text()
    assert "windows of 16 events" in page and page.count("None") == page.count("rate_hz=None") == 1
    model = zoo.load(str(tmp_path / "typing"))
    assert zoo.check(str(tmp_path / "typing")) < 1e-5
    assert quality.gate_of(model).refused(recordings[:1]) == {}
    with keras_dml.Gallery(tmp_path / "people.db", model=str(trained.folder)) as gallery:
        assert gallery.inputs.contract.events
        paths = sorted((tmp_path / "keys" / "person 0").iterdir())
        windows, indices, refused = sorted_out(Reader(gallery, {}), paths)
        assert indices == [0, 3] and set(refused) == {1, 2}
        np.testing.assert_allclose(windows[0], recordings[0], rtol=0, atol=1e-4)
        gallery.enroll("person 0", windows[:1])
        assert gallery.verify("person 0", windows[1:], threshold=1e9).accepted


def test_flags_are_channels_unless_they_are_constant_in_all_files(tmp_path):
    recordings, owners = typists(2, each=2)
    for values in recordings[:3]:
        values[:, 2] = 0
    write(tmp_path, recordings, owners)
    contents = files.read(tmp_path, events=True)
    assert contents.channels == CHANNELS and contents.rate_hz is None
    assert [len(values) for values in contents.recordings] == [EVENTS] * 4
    recordings[3][:, 2] = 0
    write(tmp_path, recordings, owners)
    assert files.read(tmp_path, events=True).channels == CHANNELS[:2]
    write(tmp_path, recordings, owners, header="row,hold (s),gap (s),shift")
    with pytest.raises(ValueError, match="No file states its rate.* set `events`"):
        files.read(tmp_path)


@pytest.mark.slow
def test_files_for_devices_decide_on_events_as_keras(tmp_path, only_quantiles):
    recordings, owners = typists(6)
    for method in ("quantiles", "quantile_lda"):
        trained = training.train(
            recordings,
            owners,
            channels=CHANNELS,
            rate_hz=None,
            window=WINDOW,
            steps=0,
            out=tmp_path / method,
        )
    file = exports.path(trained.folder, "float32")
    assert contract(file)["events"] is True and contract(file)["rate_hz"] is None
    device, model = edge.load(file), zoo.load(str(trained.folder))
    expected = keras_dml.embed(model, recordings[:3])
    np.testing.assert_allclose(device.embed(recordings[:3]), expected, rtol=1e-4, atol=1e-4)
    assert device.gate.usual == quality.gate_of(model).usual
    assert json.loads((trained.folder / "card.json").read_text())["edge"]["file"] == file.name
