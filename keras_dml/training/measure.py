"""Figures, thresholds, trials and curves of a model on recordings of people."""

from __future__ import annotations

import dataclasses

import numpy as np

from keras_dml import evaluation, inference, reports
from keras_dml._files import staged
from keras_dml.evaluation import protocol
from keras_dml.training.runs import write_json

FIGURES, TRIALS, CURVES = "figures.json", "trials.npz", "roc_det"
FARS = (0.01, 0.001)
FRACTION_OF_CARDS = 1.0  # identification among all test people; smaller galleries are easier


@dataclasses.dataclass(frozen=True, eq=False)
class Measurement:
    """Figures of a model, and the verification trials of its thresholds and curves.

    Attributes:
        figures: Rows of a card's `figures`.
        scores: Distances of the trials, shape `(trials,)`; smaller is closer.
        genuine: Whether the claim of each trial is true, shape `(trials,)`.
    """

    figures: list
    scores: np.ndarray
    genuine: np.ndarray

    @property
    def thresholds(self):
        """Rows of a card's `thresholds`."""
        return thresholds(self.scores, self.genuine)

    def save(self, folder, caption):
        """Writes `figures.json`, `trials.npz` and the error curves, `roc_det.png` and `.svg`.

        Args:
            folder: A `pathlib.Path` that exists.
            caption: People and protocol of the trials, below the curves.
        """
        write_json(folder / FIGURES, self.figures)
        with staged(folder / TRIALS) as candidate:
            np.savez_compressed(candidate, scores=self.scores, genuine=self.genuine)
        found = evaluation.verification(self.scores, self.genuine)
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
    return Measurement(figures(distances, *owners), *latest_against_earlier(distances, *owners))


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
        pooled = {"value": mean, "stderr": error, "trials": sum(row["trials"] for row in same)}
        if "people" in same[0]:
            pooled["people"] = sum(row["people"] for row in same)
        rows.append({**same[0], **pooled, "folds": values})
    return Measurement(
        rows,
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.genuine for part in parts]),
    )


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


def latest_against_earlier(distances, subjects, sessions):
    """Trials of every single recording of a last session against everybody's earlier ones.

    These are more than a draw of the protocol has. The trials of one person are not independent, so
    intervals from them are too narrow.

    Args:
        distances: Distances between all recordings, shape `(recordings, recordings)`.
        subjects: Person of each recording.
        sessions: Session of each recording, in the order of time.

    Returns:
        Distances and whether the claim is true, both of shape `(trials,)`.
    """
    subjects, sessions = np.asarray(subjects), np.asarray(sessions)
    last = {name: sessions[subjects == name].max() for name in set(subjects.tolist())}
    probes = sessions == [last[name] for name in subjects]
    people = sorted(set(subjects[~probes].tolist()))
    nearest = nearest_of(distances[np.ix_(probes, ~probes)], subjects[~probes], people)
    genuine = subjects[probes, None] == people
    return nearest.ravel(), genuine.ravel()


def nearest_of(distances, owners, names):
    """Distance of each probe to the nearest recording of each person or class.

    Args:
        distances: Shape `(probes, recordings)`.
        owners: Owner of each recording, shape `(recordings,)`.
        names: Owners, in the order of the columns.

    Returns:
        Shape `(probes, names)`.
    """
    owners = np.asarray(owners)
    return np.stack([distances[:, owners == name].min(axis=1) for name in names], axis=1)


def thresholds(scores, genuine):
    """Thresholds at fixed false accept rates, without rates that the trials are too few to show.

    Args:
        scores: Distances of the trials, shape `(trials,)`.
        genuine: Whether each claim is true, shape `(trials,)`.

    Returns:
        Rows of a card's `thresholds`.
    """
    shown = [far for far in FARS if (~genuine).sum() * far >= 1]
    found = [dataclasses.asdict(evaluation.threshold_at_far(scores, genuine, far)) for far in shown]
    return [{**row, "far_ci95": list(row["far_ci95"])} for row in found]


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
