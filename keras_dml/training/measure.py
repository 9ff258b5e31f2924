"""What a model is measured by on recordings of people: figures, trials and curves."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from keras_dml import evaluation, inference, reports
from keras_dml._files import staged
from keras_dml.evaluation import protocol
from keras_dml.training import pooled, trials
from keras_dml.training.runs import write_json

FIGURES, TRIALS, CURVES = "figures.json", "trials.npz", "roc_det"
HEADLINE = "headline.json"
FOR_UNIT = 5  # recordings of a person whose distances to those of others are the unit
FRACTION_OF_CARDS = 1.0  # identification among all test people; smaller galleries are easier


@dataclasses.dataclass(frozen=True, eq=False)
class Measurement:
    """Figures of a model by the papers' protocols, and the trials of its headline.

    Attributes:
        figures: Rows of a card's `figures`.
        trials: `keras_dml.training.trials.Trials`.
    """

    figures: list
    trials: trials.Trials

    @functools.cached_property
    def headline(self):
        """The measured part of a card's `headline`."""
        return pooled.headline(self.trials)

    def baselines(self, others):
        """A card's `baselines`.

        Args:
            others: `{name: (what, kind, values)}`, see `pooled.baseline`.
        """
        return [pooled.baseline(self.trials, name, *given) for name, given in others.items()]

    def save(self, folder, caption):
        """Writes `figures.json`, `headline.json`, `trials.npz` and the error curves, `roc_det.png`
        and `.svg`.

        Args:
            folder: A `pathlib.Path` that exists.
            caption: People and protocol of the trials, below the curves.
        """
        write_json(folder / FIGURES, self.figures)
        write_json(folder / HEADLINE, self.headline)
        with staged(folder / TRIALS) as candidate:
            np.savez_compressed(candidate, **self.trials.arrays())
        found = evaluation.verification(self.trials.scores, self.trials.genuine)
        reports.save(reports.verification_curves(found, caption=caption), folder / CURVES)


def of_people(distances, people):
    """Measures a model on people by the distances between all of their recordings.

    Args:
        distances: Shape `(recordings, recordings)`.
        people: `keras_dml.training.People`.

    Returns:
        `Measurement`: figures of both protocols, and the trials of `latest_against_earlier`.
    """
    owners = people.subjects, people.sessions
    return Measurement(
        figures(distances, *owners), trials.latest_against_earlier(distances, *owners)
    )


def over_folds(parts):
    """Combines the measurements of the folds of a cross-validation.

    Args:
        parts: `Measurement` of each fold, all with the same kinds of figures.

    Returns:
        `Measurement`: figures are means over the folds with their standard errors, trials are those
        of all folds together.
    """
    rows = []
    for same in zip(*(part.figures for part in parts), strict=True):
        values = [row["value"] for row in same]
        mean, error = protocol.mean_and_standard_error(values)
        total = {"value": mean, "stderr": error, "trials": sum(row["trials"] for row in same)}
        if "people" in same[0]:
            total["people"] = sum(row["people"] for row in same)
        rows.append({**same[0], **total, "folds": values})
    return Measurement(rows, trials.joined([part.trials for part in parts]))


def pairwise_distances(model, recordings):
    """Distances between all recordings.

    Args:
        model: A model that `keras_dml.embed` takes.
        recordings: List of arrays `(time_i, channels)`.

    Returns:
        Shape `(recordings, recordings)`, in units of the model's distance.
    """
    embeddings = inference.embed(model, recordings)
    return inference.distance(model, embeddings, embeddings)


def unit(between, known):
    """Median distance between recordings of different people.

    Args:
        between: Function of a list of recordings that gives the distances between all of them.
        known: `keras_dml.training.People`, those that the distance was made on.

    Raises:
        ValueError: If it is not above 0, as that of negative cosines may be.
    """
    subjects = np.array(known.subjects)
    rows = [np.flatnonzero(subjects == name)[:FOR_UNIT] for name in np.unique(subjects)]
    some = known.take(np.concatenate(rows))
    owners = np.array(some.subjects)
    found = np.median(between(some.signals)[owners[:, None] != owners])
    if not found > 0:
        raise ValueError(
            f"The median distance between two people must be above 0 to be a unit. Received "
            f"{found:g}. Add a constant to distances that begin below 0."
        )
    return found


def figures(distances, subjects, sessions):
    """Figures of both protocols, of 1 and 5 observed recordings, with all test people enrolled.

    In the stricter one people with fewer than five recordings in their last session take part in
    the figures of one recording.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Returns:
        Rows of a card's `figures`.
    """
    found = protocol.paper_protocol(
        distances, subjects, n=(1, 5), fractions=(0.5, FRACTION_OF_CARDS)
    )
    for n in (1, 5):
        try:
            found += protocol.session_protocol(
                distances,
                subjects,
                sessions,
                observed=n,
                n=(n,),
                fractions=(0.5, FRACTION_OF_CARDS),
            )
        except ValueError:  # too few people have n recordings in a later session
            continue
    return found


def proportion(protocol, metric, value, trials, **keys):
    """A row of a card's `figures` for a fraction of trials, with its binomial standard error.

    Args:
        protocol: Such as `"classification"`.
        metric: Such as `"accuracy"`.
        value: The fraction.
        trials: Number of trials.
        **keys: Further keys of the row.
    """
    return {
        "protocol": protocol,
        "n": 1,
        "metric": metric,
        "value": float(value),
        "stderr": float(np.sqrt(value * (1 - value) / trials)),
        "trials": int(trials),
        **keys,
    }


def summary(figures):
    """Rows of figures as text, a line each."""
    hidden = ("protocol", "n", "metric", "value", "stderr", "trials", "folds")
    return "\n".join(
        f"{row['protocol']:>24}  n={row['n']}  {row['metric']:<18} {row['value']:.4f} ± "
        f"{row['stderr']:.4f}  ({row['trials']:,} trials)"
        + "".join(f", {key} {value}" for key, value in row.items() if key not in hidden)
        for row in figures
    )


def summary_of_headline(headline):
    """The headline as text, a line for each row."""
    counts = ", ".join(f"{value} {name}" for name, value in headline.items() if name != "rows")
    lines = [
        f"{row['metric']:>18} {row['value']:.4f} [{row['ci95'][0]:.4f} to {row['ci95'][1]:.4f}]"
        for row in headline["rows"]
    ]
    return "\n".join([f"pooled: {counts}", *lines])
