import numpy as np

from zoo.teacher import Teacher


def walkers(rng, people, windows, mixing):
    rows = [rng.normal(size=(200, 3)) @ mixing[p] for p in range(people) for _ in range(windows)]
    return np.stack(rows), np.repeat(np.arange(people), windows)


def test_it_tells_people_apart_by_the_covariance_of_their_channels(rng, monkeypatch):
    monkeypatch.setattr("zoo.discriminants.COMPONENTS", 10)
    mixing = np.eye(3) + 0.5 * rng.normal(size=(6, 3, 3))
    windows, people = walkers(rng, 6, 20, mixing)
    teacher = Teacher(windows, people, windows.std(axis=(0, 1)), lags=(0, 2), outputs=4)
    again, _ = walkers(rng, 6, 5, mixing)
    answers = teacher(again)
    assert answers.shape == (30, 4) and answers.dtype == np.float32
    centers = teacher(windows).reshape(6, 20, 4).mean(axis=1)
    nearest = np.abs(answers[:, None] - centers).sum(axis=-1).argmin(axis=1)
    assert (nearest == np.repeat(np.arange(6), 5)).mean() > 0.9
