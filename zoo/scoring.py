"""Compares three scorings on the models of the zoo that recognize people, and writes
`zoo/scoring.md`.

A scoring combines several enrolled recordings and a probe into one score, see `keras_dml.scoring`.
The scorings are compared on the trials of the card. Everything that a scoring needs is estimated on
the training people of a fold: the two-covariance model, its settings, and the choice of the
scoring.

Run `python -m zoo.scoring` from the checkout, or `python -m zoo.scoring eye_lda` for one model.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer

from keras_dml import distances, evaluation, inference, scoring
from keras_dml._files import write_text
from keras_dml.training import People, page, write_json
from keras_dml.training.pooled import BOOTSTRAP
from keras_dml.training.trials import Trials, concatenate
from keras_dml.training.two_covariance import two_covariance_weights
from zoo import calibration
from zoo.scoring_folds import FOLDS, Fold

FAR = 0.01
SHRINKAGES = 0.1, 0.5
NEAREST, MEAN, TWO_COVARIANCE = "nearest", "mean", "two_covariance"
CROSS_FITTED, CHOSEN = "two_covariance, cross-fitted", "chosen"
RESULTS = pathlib.Path("build") / "scoring"
PAGE = pathlib.Path(__file__).with_name("scoring.md")
TEXT = """# Scorings

<!-- Written by `python -m zoo.scoring`. -->

A person enrolls several recordings. A *scoring* combines the distances or the embeddings of these
recordings and of a probe into one score. This page compares three scorings on the trials of each
card:

- `nearest` is the distance to the nearest enrolled recording. The main results of cards use this
  scoring unless the card names another one.
- `mean` is the distance to the mean of the enrolled recordings. Quantile embeddings are averaged at
  each knot.
- `two_covariance` is the log likelihood ratio of the two-covariance model (PLDA in closed form).

All people of a model are decided by one threshold. Brackets contain 95 % intervals over people. The
differences are the figures of the row minus the figures of `nearest` on the same trials. Their
intervals are from a paired bootstrap that draws people. A difference in bold has an interval that
excludes 0.

{table}

The mean, the covariances and the settings of the two-covariance model are estimated on the training
people of each fold, never on the people whose trials are counted. The settings are the shrinkage of
the covariance within people ({shrinkages}) and, for linear discriminants, whether discriminants are
bounded. The scoring and its settings are chosen by five inner folds over the training people, or by
fewer folds if there are fewer than 25 training people. The choice has the highest TAR at FAR 1 %,
and then the lowest EER. The column "chosen" contains the number of outer folds that chose the
scoring of the row. If the outer folds do not agree, the row `chosen` contains the nested result. In
this row, a logistic regression on the trials of the inner folds converts the scores of a fold into
log likelihood ratios.

For models of linear discriminants, the discriminants are fitted again in each inner fold. On the
people to whom they are fitted, discriminants separate people better than on new people, so the
covariances of the training people are too optimistic. In the rows `two_covariance, cross-fitted`,
the covariances are estimated on embeddings of the inner folds, whose discriminants were not fitted
to the embedded people. A linear map that is fitted to the other training people converts the
embeddings of an inner fold to the coordinates of the outer fold. The networks are not trained again
for inner folds. Their settings and their scoring are chosen on people on whom the network was
trained.

{missing}The voice models compare single recordings, so their scorings `nearest` and `mean` agree.
Embeddings that are matrices, and classifiers of images, are not part of the comparison.

```
python -m zoo.scoring
```
"""
MISSING = "Not measured yet: {names}. `python -m zoo.scoring NAME` adds a model to the table.\n\n"

Names = Annotated[
    list[str] | None, typer.Argument(help="Models of the zoo. Default: all models of the page.")
]


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A scoring with its settings.

    Attributes:
        scoring: `NEAREST`, `MEAN` or `TWO_COVARIANCE`.
        shrinkage: Shrinkage of the covariance within people, for `TWO_COVARIANCE`.
        bounded: Whether linear discriminants are bounded.
    """

    scoring: str
    shrinkage: float | None = None
    bounded: bool = True

    def __str__(self) -> str:
        bound = "" if self.bounded else ", unbounded"
        return "" if self.shrinkage is None else f"shrinkage {self.shrinkage:g}{bound}"


class Comparison:
    """A distance in the form that `keras_dml.scoring` takes.

    Args:
        distance: Distance between embeddings.
    """

    def __init__(self, distance: distances.Distance) -> None:
        self.distance_name, self.has_mean = distance.name, distance.has_mean
        self.mean_points, self.from_mean_point = distance.mean_points, distance.from_mean_point
        self._distance = distance

    def distances(self, probes: np.ndarray, stored: np.ndarray) -> np.ndarray:
        return inference.distance(self._distance, probes, stored)


def candidates(fold: Fold) -> list[Candidate]:
    """Returns the scorings that are defined for the embeddings of a fold, with all settings."""
    counts = [len(rows) for part in fold.parts(fold.test) for rows in part.templates]
    result = [Candidate(NEAREST)]
    if max(counts) > 1:
        result.append(Candidate(MEAN))
    if np.ndim(fold.test.signals[0]) == 1:
        bounds = (True,) if fold.limit is None else (True, False)
        settings = itertools.product(SHRINKAGES, bounds)
        result += [Candidate(TWO_COVARIANCE, *setting) for setting in settings]
    return result


def trials_of(fold: Fold, candidate: Candidate) -> Trials:
    """Computes the trials of the test people of a fold with one scoring.

    Log likelihood ratios need no unit. Other scores are divided by the median distance between two
    training people, so that the folds can share one threshold.
    """
    test, train = (_vectors(fold, people, candidate.bounded) for people in (fold.test, fold.train))
    distance, offset, unit = fold.distance, 0.0, 1.0
    if candidate.scoring == TWO_COVARIANCE:
        weights = two_covariance_weights(train, fold.train.subjects, None, candidate.shrinkage)
        test, distance = _embedded(test, *weights), distances.get(TWO_COVARIANCE)
    elif not distance.is_learned:
        offset = 0.0 if distance.is_zero_at_itself else 1.0  # the least cosine distance is -1
        unit = _unit(fold, train) + offset
    comparison, rule = Comparison(distance), scoring.get(candidate.scoring)
    parts = []
    for part in fold.parts(fold.test):
        counts = [len(rows) for rows in part.templates]
        probes = rule.summary(comparison, test[part.probes], np.ones(len(part.probes), int))
        enrolled = rule.summary(comparison, test[np.concatenate(part.templates)], counts)
        scores = (rule.compare(comparison, probes, enrolled) + offset) / unit
        parts.append(_trials(fold.test, part, scores))
    return concatenate(parts)


def cross_fitted(fold: Fold) -> Fold:
    """Returns the fold with embeddings of the training people from its inner folds.

    The discriminants of an inner fold are not fitted to the embedded people. A linear map converts
    the embeddings to the coordinates of the outer fold.
    """
    vectors = np.stack(fold.train.signals)
    moved = vectors.copy()
    for inner in fold.inner:
        rows = np.isin(fold.train.subjects, inner.test.subjects)
        source, target = (
            np.column_stack([people.signals, np.ones(len(people.signals))])
            for people in (inner.train, inner.test)
        )
        moved[rows] = target @ np.linalg.lstsq(source, vectors[~rows], rcond=None)[0]
    return dataclasses.replace(fold, train=dataclasses.replace(fold.train, signals=list(moved)))


def best(folds: Sequence[Fold], choices: Sequence[Candidate]) -> tuple[Candidate, Trials]:
    """Returns the candidate with the highest TAR at `FAR`, and its trials. If several candidates
    have the same TAR, the one with the lowest EER is returned.
    """

    def merit(pair):
        tar, eer = rates(pair[1])
        return tar, -eer

    return max(((x, concatenate([trials_of(f, x) for f in folds])) for x in choices), key=merit)


def rates(trials: Trials) -> tuple[float, float]:
    """Returns the TAR at `FAR` and the EER of trials. If there are too few imposter trials for
    `FAR`, the threshold accepts none of them.
    """
    imposters = np.sort(trials.scores[~trials.genuine])
    tar = np.mean(trials.scores[trials.genuine] < imposters[int(FAR * len(imposters))])
    return float(tar), float(evaluation.equal_error_rate(trials.scores, trials.genuine).rate)


def compare(folds: Sequence[Fold]) -> list[dict[str, Any]]:
    """Measures every scoring on the test people of all folds.

    Returns:
        List of rows with the keys `scoring`, `settings`, `folds`, `people`, `eer`, `tar` and their
        intervals, and the paired differences from `NEAREST`.
    """
    options = candidates(folds[0])
    names = list(dict.fromkeys(option.scoring for option in options))
    selected, inner = [], []  # per fold: the best candidate of each scoring, and its inner trials
    for fold in folds:
        results = {
            name: best(fold.inner, [x for x in options if x.scoring == name]) for name in names
        }
        selected.append({name: result[0] for name, result in results.items()})
        inner.append({name: result[1] for name, result in results.items()})
    winners = [_winner(results) for results in inner]
    counts = collections.Counter(winners)
    outer = {
        name: [trials_of(fold, picks[name]) for fold, picks in zip(folds, selected, strict=True)]
        for name in names
    }
    rows = {
        name: (_in_words([picks[name] for picks in selected]), f"{counts[name]} of {len(folds)}")
        for name in names
    }
    if TWO_COVARIANCE in names and folds[0].limit is not None:
        rows[CROSS_FITTED] = (rows[TWO_COVARIANCE][0], "")
        outer[CROSS_FITTED] = [
            trials_of(cross_fitted(fold), picks[TWO_COVARIANCE])
            for fold, picks in zip(folds, selected, strict=True)
        ]
    if len(counts) > 1:
        rows[CHOSEN] = ("", "")
        outer[CHOSEN] = [
            _calibrated(outer[name][i], inner[i][name]) for i, name in enumerate(winners)
        ]
    pooled = {name: concatenate(parts) for name, parts in outer.items()}
    return [
        {"scoring": name, "settings": settings, "folds": count}
        | _figures(pooled[name], pooled[NEAREST])
        for name, (settings, count) in rows.items()
    ]


def table(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the table of the page.

    Args:
        results: `results[name]` contains the rows of `compare`.
    """
    heads = ("model", "people", "scoring", "settings", "chosen", "EER", "TAR at FAR 1 %")
    heads += ("EER minus nearest", "TAR minus nearest")
    lines = [
        (
            f"[`{name}`]({name}/README.md)",
            row["people"],
            row["scoring"],
            row["settings"] or "–",
            row["folds"] or "–",
            _rate(row["eer"], row["eer_ci95"]),
            _rate(row["tar"], row["tar_ci95"]),
            *(_difference(row, metric) for metric in ("eer", "tar")),
        )
        for name, rows in results.items()
        for row in rows
    ]
    return page.markdown_table(heads, lines)


def main(names: Names = None) -> None:
    """Compares the scorings of models, and writes a page with the results of these models and of
    all models that were measured earlier.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names or FOLDS:
        write_json(RESULTS / f"{name}.json", compare(FOLDS[name]()))
        print(table({name: _read(name)}), flush=True)
    results = {name: _read(name) for name in FOLDS if (RESULTS / f"{name}.json").exists()}
    write_text(PAGE, text(results))
    print(PAGE)


def text(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Returns the page, which names the models without results. The argument is the same as in
    `table`."""
    names = ", ".join(f"`{name}`" for name in FOLDS if name not in results)
    return TEXT.format(
        table=table(results),
        shrinkages=" or ".join(f"{value:g}" for value in SHRINKAGES),
        missing=MISSING.format(names=names) if names else "",
    )


def _read(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def _vectors(fold, people: People, bounded):
    vectors = np.stack(people.signals)
    if fold.limit is None or not bounded:
        return vectors
    return fold.limit * np.tanh(vectors / fold.limit)


def _embedded(vectors, kernel, bias, variances):
    coordinates = vectors @ kernel + bias
    return np.stack([coordinates, np.broadcast_to(variances, coordinates.shape)], axis=1)


def _unit(fold, train):
    """Returns the median distance between recordings of different training people."""
    subjects = np.asarray(fold.train.subjects)
    rows = [np.flatnonzero(subjects == name)[: fold.unit_sample] for name in np.unique(subjects)]
    rows = np.concatenate(rows)
    owners, between = subjects[rows], inference.distance(fold.distance, train[rows], train[rows])
    return float(np.median(between[owners[:, None] != owners]))


def _trials(people, part, scores):
    """Returns the trials of all probes and templates, except those whose template contains the
    probe."""
    owners = np.asarray(people.subjects)
    claims = owners[[rows[0] for rows in part.templates]]
    contained = np.stack([np.isin(part.probes, rows) for rows in part.templates], axis=1)
    probe, template = np.nonzero(~contained)
    counts = np.array([len(rows) for rows in part.templates])
    return Trials(
        scores=scores[probe, template],
        probes=owners[part.probes][probe],
        claims=claims[template],
        recordings=probe,
        enrolled=counts[template],
    )


def _winner(results):
    """Returns the scoring with the highest TAR on the trials of the inner folds."""

    def merit(name):
        tar, eer = rates(results[name])
        return tar, -eer

    return max(results, key=merit)


def _calibrated(trials, inner):
    scale, shift = calibration.log_odds(-inner.scores, inner.genuine)
    return trials.with_scores(-(scale * -trials.scores + shift))


def _in_words(picks):
    counts = collections.Counter(map(str, picks))
    if len(counts) == 1:
        return str(picks[0])
    return "; ".join(f"{words} in {count}" for words, count in counts.most_common())


def _figures(trials, nearest):
    result = evaluation.verification(
        trials.scores, trials.genuine, people=trials.people, bootstrap=BOOTSTRAP
    )
    tar = f"tar_at_far_{FAR:g}"
    pair = trials.scores, nearest.scores, trials.genuine
    options = {"people": trials.people, "bootstrap": BOOTSTRAP}
    eers = evaluation.eer_difference(*pair, **options)
    tars = evaluation.tar_difference(*pair, FAR, **options)
    return {
        "people": len(set(trials.probes.tolist())),
        "eer": float(result.eer),
        "eer_ci95": list(result.intervals["eer"]),
        "tar": float(result.tar_at_far[FAR].tar),
        "tar_ci95": list(result.intervals[tar]),
        "eer_difference": eers.value,
        "eer_difference_ci95": list(eers.ci95),
        "tar_difference": tars.value,
        "tar_difference_ci95": list(tars.ci95),
    }


def _rate(value, ci95):
    low, high = ci95
    return f"{100 * value:.1f} % [{100 * low:.1f} to {100 * high:.1f}]"


def _difference(row, metric):
    if row["scoring"] == NEAREST:
        return "–"
    value, (low, high) = row[f"{metric}_difference"], row[f"{metric}_difference_ci95"]
    words = f"{100 * value:+.1f} [{100 * low:+.1f} to {100 * high:+.1f}]"
    return f"**{words}**" if low > 0 or high < 0 else words


if __name__ == "__main__":
    typer.run(main)
