"""Reads typed sentences, fits closed forms to them, and compares people on the same trials."""

import dataclasses

import numpy as np

from keras_dml import evaluation, inference, layers, scoring, zoo
from keras_dml._backend import keras
from keras_dml.gallery.keras_model import KerasModel
from keras_dml.training import People, folds, measure, pooled, trials, two_covariance
from zoo import people

CHANNELS = "hold time", "time since the previous press", "key code"
KNOWN, UNSEEN = ("train", "validation"), ("test",)
ENROLLED, PROBES = 5, 5  # sentences of each person; the probes are the next sentences
FOLDS = 5
SCORING = "two_covariance"
# Number of coordinates. In three folds of the people in `KNOWN`, 60 coordinates have nearly the
# same error rates as 30. But a classifier reads 11 % of 40 sentences from 60 coordinates, and 6 %
# from 30 coordinates. The most frequent sentence has 3 % of the recordings.
COORDINATES = 30
# Features are limited to this multiple of their standard deviation. In the same folds, limits from
# 1.2 to 2.5 changed the EER by less than 0.3 points.
LIMIT = 2.0
LEAST_SCALE = 1e-6  # for features that do not vary
BATCH = 256
PAUSE, KNOTS = 3.0, 9  # settings of the distance without training: seconds, quantiles


@dataclasses.dataclass
class Typists:
    """Sentences with the people who typed them.

    Attributes:
        people: `keras_dml.training.People`. The sessions are the numbers of the sentences in the
            order of time, from 0 for each person.
        texts: The text of each sentence, shape `(sentences,)`.
    """

    people: People
    texts: np.ndarray

    @property
    def subjects(self):
        """The person who typed each sentence, shape `(sentences,)`."""
        return np.asarray(self.people.subjects)

    def select(self, subjects):
        """Returns the sentences of the given people."""
        rows = np.isin(self.subjects, sorted(subjects))
        return Typists(self.people.take(rows), self.texts[rows])


def typists(splits=KNOWN + UNSEEN, config="sentences"):
    """Reads the sentences of a data set.

    Args:
        splits: Splits of the data set `aalto_keystrokes`.
        config: Configuration of the data set: `"sentences"`, or `"new_sentences"` if no sentence of
            `train` occurs in another split.
    """
    collected, texts = People([], [], []), []
    for split in splits:
        for record in people.read(f"aalto_keystrokes/{config}", split):
            collected.signals.append(presses(record))
            collected.subjects.append(record["subject"].decode())
            collected.sessions.append(int(record["number"]))
            texts.append(record["text"].decode())
    return Typists(collected, np.array(texts))


def presses(record):
    """Returns the key presses of a sentence, shape `(presses, 3)`: hold time and time since the
    previous press, in seconds, and key code. Unknown times are 0.
    """
    times = np.asarray(record["sequence"])[:, :2]
    return np.column_stack([times, np.asarray(record["keys"], np.float32)])


def examples(split):
    """Returns the sentences in a split, and the people who typed them.

    Args:
        split: `"train"`, or `"test"` for the people who were not used to train the published file.
    """
    typed = typists(KNOWN if split == "train" else UNSEEN).people
    return typed.signals, typed.subjects


def closed_form(typed, units=COORDINATES):
    """Fits linear discriminants of quantiles and means of the times of key presses.

    Args:
        typed: `People` to whom the model is fitted.
        units: Number of coordinates.
    """
    signal = keras.Input((None, len(CHANNELS)), name="signal")
    residuals = layers.KeystrokeResiduals(name="residuals")
    features = layers.KeystrokeStatistics(name="statistics")(residuals(signal))
    residuals.adapt(typed.signals)
    values = inference.embed(keras.Model(signal, features), typed.signals, BATCH, progress=False)
    mean, scale = values.mean(axis=0), LIMIT * values.std(axis=0) + LEAST_SCALE
    limited = np.clip((values - mean) / scale, -1, 1)
    weights = two_covariance.two_covariance_weights(limited, typed.subjects, units)
    x = layers.FixedNormalization(mean, scale, name="scale")(features)
    x = keras.layers.Activation("hard_tanh", name="limits")(x)
    head = layers.TwoCovariance(len(weights[-1]), name="embedding")
    model = keras.Model(signal, head(x), name="keystrokes")
    head.set_weights(weights)
    return model


def groups(subjects):
    """Divides people into folds."""
    return folds(sorted(set(subjects)), FOLDS)


@dataclasses.dataclass
class Claims:
    """Scores of sets of sentences of people, each compared with the first sentences of all people.

    Attributes:
        scores: Scores, shape `(trials,)`. Smaller scores mean better matches.
        probes: Person who typed the observed sentences, shape `(trials,)`.
        claims: Claimed person, shape `(trials,)`.
    """

    scores: np.ndarray
    probes: np.ndarray
    claims: np.ndarray

    @property
    def genuine(self):
        """Boolean array that is True for genuine trials."""
        return self.probes == self.claims

    @property
    def people(self):
        """The two people of each trial."""
        return self.probes, self.claims


def claims(compare, embeddings, typed, count, probes=PROBES):
    """Compares sentences of each person with the first sentences of all people.

    Args:
        compare: Function of the embeddings of the observed sentences, shape `(sets, count, ...)`,
            and the embeddings of the enrolled sentences, shape `(people, enrolled, ...)`. The
            function returns scores, shape `(sets, people)`.
        embeddings: Embeddings of all sentences.
        typed: `People` who typed the sentences. People with too few sentences are left out.
        count: Number of observed sentences in a trial, a divisor of `probes`.
        probes: Number of sentences of each person that are compared.
    """
    order = sentences_of_people(typed, ENROLLED + probes)
    names = np.array(sorted(order))
    rows = np.stack([order[name] for name in names])  # (people, enrolled + probes)
    enrolled, observed = embeddings[rows[:, :ENROLLED]], rows[:, ENROLLED:].reshape(-1, count)
    scores = compare(embeddings[observed], enrolled)
    owners = np.repeat(names, probes // count)
    return Claims(scores.ravel(), np.repeat(owners, len(names)), np.tile(names, len(owners)))


def sentences_of_people(typed, least):
    """Returns the rows of the first sentences of each person, in the order of time.

    Args:
        typed: `People`.
        least: Number of sentences. People with fewer sentences are left out.
    """
    subjects, numbers = np.asarray(typed.subjects), np.asarray(typed.sessions)
    order = np.lexsort([numbers, subjects])
    names, starts, counts = np.unique(subjects[order], return_index=True, return_counts=True)
    return {
        name: order[start : start + least]
        for name, start, count in zip(names.tolist(), starts, counts, strict=True)
        if count >= least
    }


def measurement(model, typed, embeddings=None, rule=SCORING):
    """Measures the trials of a card: the first probe of each person is compared with the enrolled
    sentences of all people. The figures are measured with all probes of a person together.

    Args:
        model: A `keras.Model` that ends in a head.
        typed: `People` to whom the model was not fitted.
        embeddings: Embeddings of the sentences. Default: they are computed.
        rule: Name of the scoring, see `keras_dml.scoring`.
    """
    if embeddings is None:
        embeddings = inference.embed(model, typed.signals, BATCH, progress=False)
    compare = by_scoring(model, rule)
    claimed = claims(compare, embeddings, typed, 1, probes=1)
    people = len(np.unique(claimed.claims))
    return measure.Measurement(
        rows_of_a_card(claims(compare, embeddings, typed, PROBES)),
        trials.Trials(
            claimed.scores,
            claimed.probes,
            claimed.claims,
            recordings=np.repeat(np.arange(people), people),
            enrolled=np.full(len(claimed.scores), ENROLLED),
        ),
    )


def rows_of_a_card(claimed):
    """Returns rows for the entry `figures` of a card, with five sentences as the probe."""
    result = evaluation.verification(
        claimed.scores, claimed.genuine, people=claimed.people, bootstrap=pooled.BOOTSTRAP
    )
    values = {"eer": result.eer}
    values |= {f"tar_at_far_{far:g}": point.tar for far, point in result.tar_at_far.items()}
    rows = []
    for metric, value in values.items():
        low, high = map(float, result.intervals[metric])
        rows.append(
            {
                "protocol": "five sentences as the probe",
                "n": ENROLLED,
                "metric": metric,
                "value": float(value),
                "stderr": (high - low) / (2 * 1.96),
                "ci95": [low, high],
                "trials": len(claimed.scores),
                "people": len(np.unique(claimed.probes)),
            }
        )
    return rows


def synthetic_sentences(lengths=(47, 20, 90), seed=0):
    """Generates key presses with random times and random keys, for golden files.

    Args:
        lengths: Number of key presses of each sentence.
        seed: Seed of the random numbers.
    """
    rng, sentences = np.random.default_rng(seed), []
    for count in lengths:
        holds, gaps = np.exp(rng.normal([-2.3, -1.8], [0.3, 0.6], (count, 2))).T
        gaps[0] = 0
        keys = rng.choice([*range(65, 91), 32, 32, 32, 8, 16, 190], count)
        sentences.append(np.stack([holds, gaps, keys], axis=1).astype(np.float32))
    return sentences


def join(parts):
    """Joins the trials of several folds."""
    return Claims(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in dataclasses.fields(Claims)
        )
    )


def by_scoring(model, name):
    """Returns a function for `claims` that scores the embeddings of a model.

    Args:
        model: A `keras.Model` that ends in a head.
        name: Name of the scoring, see `keras_dml.scoring`.
    """
    rule, model = scoring.get(name), KerasModel(model)
    rule.check(model)

    def compare(observed, enrolled):
        sets = [
            rule.summary(model, part.reshape(-1, *part.shape[2:]), [part.shape[1]] * len(part))
            for part in (observed, enrolled)
        ]
        return rule.compare(model, *sets)

    return compare


def untrained_quantiles(typed):
    """Computes quantiles of times without training: nine quantiles of the logarithms of the hold
    time and of the time since the previous press, for letters and for other keys.

    Args:
        typed: `People`.

    Returns:
        Array of shape `(sentences, 36)`.
    """
    knots = (np.arange(KNOTS) + 0.5) / KNOTS
    rows = []
    for signal in typed.signals:
        times = np.log(np.clip(signal[:, :2], 0.01, PAUSE))
        is_letter = (signal[:, 2] >= 65) & (signal[:, 2] <= 90)
        parts = []
        for time in (0, 1):
            is_known = signal[:, time] > 0
            for kind in (is_letter, ~is_letter):
                members = is_known & kind if (is_known & kind).any() else is_known
                parts.append(np.quantile(times[members, time], knots))
        rows.append(np.concatenate(parts))
    return np.array(rows, np.float32)


def by_nothing(typed):
    """Returns the entry of a card's baselines for the quantiles of times, see
    `zoo.evidence.Evidence`.
    """
    claimed = claims(nearest_l1, untrained_quantiles(typed), typed, 1, probes=1)
    what = "quantiles of the times of letters and of other keys, L1 distance, nothing trained"
    return what, pooled.NO_NETWORK, claimed.scores


def by_closed_form(typed):
    """Returns the entry of a card's baselines for the published closed form."""
    claimed = measurement(zoo.load("keystroke_lda"), typed).trials
    what = "linear discriminants of quantiles and means of times, in closed form"
    return what, pooled.NO_NETWORK, claimed.scores


def nearest_l1(observed, enrolled):
    """Computes the mean L1 distance of the observed sentences to the nearest enrolled sentence, as
    a function for `claims`.
    """
    scores = np.zeros((len(observed), len(enrolled)))
    for person, stored in enumerate(enrolled):
        distances = np.abs(observed[:, :, None] - stored).sum(axis=-1)  # (sets, count, enrolled)
        scores[:, person] = distances.min(axis=-1).mean(axis=-1)
    return scores
