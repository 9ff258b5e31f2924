"""Reads the embeddings on which `zoo.scoring` compares scorings: for each model of the zoo and each
fold, the people of the fold and the people on whom the model of the fold was trained.

Settings are chosen by folds over the training people. The linear discriminants of these inner folds
are fitted again. Networks are not trained again for the inner folds.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from keras_dml import distances, inference, layers, training, zoo
from keras_dml._backend import keras
from keras_dml.training import People, discriminants, trials
from keras_dml.training.measure import FOR_UNIT
from zoo import across_films, evidence, eyes, gait, phone, speech, telephone, voices, watch
from zoo.voice_classifiers import AT_ONCE

INNER_FOLDS, INNER_SEED = 5, 7
LEAST_PEOPLE = 5  # in a group of an inner fold: groups of two have too few imposter trials


@dataclasses.dataclass
class Part:
    """Probes and enrolled recordings that are compared with each other.

    Attributes:
        probes: Indices of the probes.
        templates: List of arrays with the indices of the recordings that are enrolled together.
    """

    probes: np.ndarray
    templates: list[np.ndarray]


@dataclasses.dataclass
class Fold:
    """Embeddings of the people of a fold and of the people on whom the model was trained.

    Attributes:
        test: `People` whose signals are vectors or quantile embeddings.
        train: Embeddings of the training people.
        distance: Distance of the model.
        parts: Function that takes `People` and returns a list of `Part`.
        limit: Bound of linear discriminants, see `keras_dml.layers.LinearDiscriminants`. The
            vectors are not bounded yet. None for other embeddings.
        unit_sample: Number of recordings per person that determine the unit of distances.
        inner: Folds over the training people.
    """

    test: People
    train: People
    distance: distances.Distance
    parts: Callable[[People], list[Part]]
    limit: float | None = None
    unit_sample: int | None = FOR_UNIT
    inner: list[Fold] = dataclasses.field(default_factory=list)


def of_films(people: People) -> list[Part]:
    """Compares each window with the windows of each person from all other films."""
    films = np.asarray(people.sessions)
    return [_part(people, films == film, films != film) for film in np.unique(films)]


def of_last_session(people: People) -> list[Part]:
    """Compares the recordings of the last session with each person's earlier recordings."""
    is_last = trials.is_last_session(people.subjects, people.sessions)
    return [_part(people, is_last, ~is_last)]


def of_runs(people: People) -> list[Part]:
    """Compares later runs with the first runs, and earlier runs with the last runs, see
    `zoo.watch.claims`."""
    subjects, runs = np.asarray(people.subjects), np.asarray(people.sessions)
    owned = subjects[:, None] == subjects
    first = (owned & (runs < runs[:, None])).sum(axis=1)
    last = owned.sum(axis=1) - 1 - first
    return [_part(people, rank >= watch.ENROLLED, rank < watch.ENROLLED) for rank in (first, last)]


def of_pairs(people: People) -> list[Part]:
    """Compares all pairs of recordings from the same data set, see `zoo.voices.trials`."""
    far = voices.is_telephone(people.subjects)
    groups = (np.flatnonzero(rows) for rows in (far, ~far))
    return [Part(rows, [rows[i : i + 1] for i in range(len(rows))]) for rows in groups if len(rows)]


def _part(people, probes, enrolled):
    owners, enrolled = np.asarray(people.subjects), np.flatnonzero(enrolled)
    names = np.unique(owners[enrolled])
    return Part(np.flatnonzero(probes), [enrolled[owners[enrolled] == name] for name in names])


class Discriminants:
    """Linear discriminants that are fitted again for inner folds.

    Lagged correlations do not depend on the scale of the channels, except for a small ridge.
    Therefore the features of one model serve for all inner folds, although the normalization of the
    channels differs between the models of the folds.

    Args:
        model: Model with a layer `LinearDiscriminants`, which computes the features.
        taught: Windows to which the discriminants are fitted.
        person: Function that returns the person behind a name in `taught`.
    """

    def __init__(
        self,
        model: keras.Model,
        taught: People,
        person: Callable[[str], str] = lambda name: name,
    ) -> None:
        self._head = _discriminants(model)
        self._features = keras.Model(model.input, self._head.input)
        self._taught = np.asarray(taught.subjects)
        self._people = np.array([person(name) for name in taught.subjects])
        self._rows = discriminants.outputs(self._features, taught.signals)

    def without(self, group: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Fits discriminants to all people except a group. Returns the kernel and the bias."""
        rows = ~np.isin(self._people, group)
        names = self._taught[rows]
        count = min(self._head.units, len(set(names.tolist())) - 1)
        return discriminants.linear_weights(self._rows[rows], names, count)

    def inner_folds(
        self, recordings: People, group: Sequence[Any], of_fold: Callable[..., Fold]
    ) -> list[Fold]:
        """Returns the inner folds of a fold, for each of which the discriminants are fitted again.

        Args:
            recordings: Recordings of all people, without augmentation.
            group: People of the outer fold.
            of_fold: Function that takes the test people and the training people of an inner fold.
        """
        train = recordings.without(group)
        features = discriminants.outputs(self._features, train.signals)
        folds = []
        for inner in _inner_groups(train):
            kernel, bias = self.without([*group, *inner])
            everybody = dataclasses.replace(train, signals=list(features @ kernel + bias))
            folds.append(of_fold(everybody.select(inner), everybody.without(inner)))
        return folds


def of_discriminants(
    model: keras.Model,
    method: Discriminants,
    recordings: People,
    group: Sequence[Any],
    parts: Callable[[People], list[Part]],
    **options: Any,
) -> Fold:
    """Returns a fold of linear discriminants.

    Args:
        model: Model of the fold.
        method: `Discriminants` for the inner folds.
        recordings: Recordings of all people, without augmentation.
        group: People of the fold.
        parts: See `Fold`.
        **options: Further attributes of the fold.
    """
    head = _discriminants(model)
    kernel, bias = (np.asarray(weight, np.float64) for weight in head.get_weights())
    features = discriminants.outputs(keras.Model(model.input, head.input), recordings.signals)
    everybody = dataclasses.replace(recordings, signals=list(features @ kernel + bias))
    of_fold = functools.partial(
        Fold, distance=distances.Cosine(), parts=parts, limit=head.limit, **options
    )
    inner = method.inner_folds(recordings, group, of_fold)
    return of_fold(everybody.select(group), everybody.without(group), inner=inner)


def _discriminants(model):
    return next(x for x in model.layers if isinstance(x, layers.LinearDiscriminants))


def eye_lda() -> list[Fold]:
    """Returns the folds of `eye_lda`."""
    watchers = eyes.one_eye()
    windows = watchers.windows(eyes.WINDOW)
    method = Discriminants(zoo.load("eye_lda"), watchers.windows(eyes.WINDOW, eyes.WINDOW // 2))
    return [
        of_discriminants(model, method, windows, group, of_films)
        for model, group in _with_models("eye_lda", across_films.groups(windows))
    ]


def gait_lda() -> list[Fold]:
    """Returns one fold with the walkers of the split `test`. The discriminants are fitted to both
    feet of the training people."""
    walkers, test = gait.mirrored(gait.both_feet()), gait.walks("test").windows(gait.WINDOW)
    model, taught = zoo.load("gait_lda"), walkers.windows(gait.WINDOW, gait.STRIDE)
    method = Discriminants(model, taught, lambda name: name.removesuffix(gait.RIGHT))
    windows = test + gait.left_feet(walkers).windows(gait.WINDOW)
    return [of_discriminants(model, method, windows, sorted(set(test.subjects)), of_last_session)]


def phone_gait_lda() -> list[Fold]:
    """Returns the folds of `phone_gait_lda`."""
    walkers = phone.walks()
    taught = walkers.at_tempos(phone.TEMPOS).windows(phone.WINDOW, phone.STRIDE)
    method = Discriminants(zoo.load("phone_gait_lda"), taught, _at_one_tempo)
    windows = phone.blocks(walkers).windows(phone.WINDOW)
    return [
        of_discriminants(model, method, windows, group, of_last_session)
        for model, group in _with_models("phone_gait_lda", phone.groups(walkers))
    ]


def watch_lda() -> list[Fold]:
    """Returns the folds of `watch_lda`. The models of the folds have different lags."""
    train, unseen = watch.walks(watch.KNOWN), watch.walks(watch.UNSEEN)
    walkers, folds = train + unseen, []
    for model, group in _with_models("watch_lda", watch.groups(train.subjects, unseen.subjects)):
        method = Discriminants(
            model,
            watch.variants(walkers.without(group)),
            lambda name: _at_one_tempo(name).removesuffix(watch.MIRRORED),
        )
        folds.append(of_discriminants(model, method, walkers, group, of_runs, unit_sample=None))
    return folds


def voice_ge2e_sim() -> list[Fold]:
    """Returns one fold with the test voices of both data sets."""
    return _voices("voice_ge2e_sim", *_divided(voices.everybody(prepare=False)))


def voice_logcov_lda() -> list[Fold]:
    """Returns one fold with the callers of Hyke."""
    return _voices("voice_logcov_lda", telephone.lines(prepare=True), speech.utterances())


def eye_qp_wl() -> list[Fold]:
    """Returns the folds of `eye_qp_wl`."""
    windows = eyes.one_eye().windows(eyes.WINDOW)
    return [
        _network(model, windows.select(group), windows.without(group), of_films)
        for model, group in _with_models("eye_qp_wl", across_films.groups(windows))
    ]


def gait_qp_wl() -> list[Fold]:
    """Returns one fold with the walkers of the split `test`."""
    test, train = (
        walkers.windows(gait.WINDOW)
        for walkers in (gait.walks("test"), gait.left_feet(gait.both_feet()))
    )
    return [_network(zoo.load("gait_qp_wl"), test, train, of_last_session)]


def phone_gait_qp_wl() -> list[Fold]:
    """Returns the folds of `phone_gait_qp_wl`."""
    walkers = phone.walks()
    windows = phone.blocks(walkers).windows(phone.WINDOW)
    return [
        _network(model, windows.select(group), windows.without(group), of_last_session)
        for model, group in _with_models("phone_gait_qp_wl", phone.groups(walkers))
    ]


FOLDS = {
    read.__name__: read
    for read in (
        eye_lda,
        gait_lda,
        phone_gait_lda,
        watch_lda,
        voice_ge2e_sim,
        voice_logcov_lda,
        eye_qp_wl,
        gait_qp_wl,
        phone_gait_qp_wl,
    )
}


def _with_models(name, groups):
    return zip(evidence.published(name).folds, groups, strict=True)


def _at_one_tempo(name):
    return name.split(" x")[0]


def _divided(every):
    teaches = voices.teaches(every.subjects)
    return every.take(~teaches), every.take(teaches)


def _voices(name, test, train):
    return [_network(zoo.load(name), test, train, of_pairs, batch_size=AT_ONCE)]


def _network(model, test, train, parts, **options):
    """Returns the fold of a network. The embeddings of the inner folds are from the same network,
    which was trained on the people of the inner folds."""
    test, train = (
        dataclasses.replace(
            people,
            signals=list(inference.embed(model, people.signals, progress=False, **options)),
        )
        for people in (test, train)
    )
    of_fold = functools.partial(Fold, distance=inference.head_distance(model), parts=parts)
    groups = _inner_groups(train)
    inner = [of_fold(train.select(group), train.without(group)) for group in groups]
    return of_fold(test, train, inner=inner)


def _inner_groups(people):
    """Divides the training people into five groups, or into fewer groups of at least five people.
    There are at least two groups."""
    count = max(2, min(INNER_FOLDS, len(set(people.subjects)) // LEAST_PEOPLE))
    return training.folds(people.subjects, count, INNER_SEED)
