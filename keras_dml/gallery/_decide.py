"""Decides which person a recording belongs to. Needs only NumPy and ai-edge-litert.

This file reads `model.tflite`, `gallery.npz` and `golden.npz` in its own folder.

    python decide.py RECORDING.npy ...           identifies a person (exit 0, or 1 for a stranger)
    python decide.py PERSON RECORDING.npy ...    verifies a person (exit 0, or 1 if rejected)
    python decide.py                             checks that this device computes correct scores

If several recordings are given, they must have been made at the same time. The script makes one
decision for all given recordings. After an error, the exit status is 2.
"""

from __future__ import annotations  # a device may run an older Python

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
TIE = 1e-5  # scores that differ by less than this fraction count as equal


class Gallery:
    """People, a threshold and a model, read from a folder."""

    def __init__(self, folder: str | pathlib.Path = HERE):
        from ai_edge_litert.interpreter import Interpreter  # an ImportError exits with 2

        file = Interpreter(str(pathlib.Path(folder, "model.tflite")), num_threads=1)
        self._embed, self._distance = map(file.get_signature_runner, ("embed", "distance"))
        with np.load(pathlib.Path(folder, "gallery.npz"), allow_pickle=False) as arrays:
            self._templates, self._owner, self._enrolled = (
                arrays[name] for name in ("templates", "owner", "enrolled")
            )
            self._distance_name, self._scoring = str(arrays["distance"]), str(arrays["scoring"])
            self._least_steps, self._most_steps = arrays["steps"]
            self.people, self.threshold = arrays["people"].tolist(), float(arrays["threshold"])
            # Folders that an earlier version exported have no margin.
            self.margin = float(arrays["margin"]) if "margin" in arrays else 0.0

    def scores(self, *recordings: np.ndarray) -> dict[str, float]:
        """Computes the score of recordings for each person.

        The scoring `nearest` takes the distance from each of `recordings` to the nearest enrolled
        recording of the person, averaged over `recordings`. The scoring `mean` compares the mean of
        `recordings` with the mean of the enrolled recordings. The scoring `two_covariance` computes
        the negative log likelihood ratio of the two means. The score is infinite if one of
        `recordings` is nearer to a stored imposter recording than to the person's enrolled
        recordings.
        """
        probes = np.concatenate([self._embedding(recording) for recording in recordings])
        distances = np.stack([self._distances(probe, self._templates) for probe in probes])
        scores = {}
        for i, person in enumerate(self.people):
            is_owned = self._owner == i
            nearest = distances[:, is_owned & self._enrolled].min(axis=1)
            marked = distances[:, is_owned & ~self._enrolled].min(axis=1, initial=np.inf)
            score = nearest.mean()
            if self._scoring != "nearest":
                score = self._score_of_means(probes, self._templates[is_owned & self._enrolled])
            scores[person] = np.inf if (marked < nearest).any() else float(score)
        return scores

    def _score_of_means(self, probes, templates):
        if self._scoring == "two_covariance":
            return -log_likelihood_ratio(probes, templates)
        if self._distance_name == "cosine":
            probes, templates = (
                z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-30)
                for z in (probes, templates)
            )
        means = (z.mean(axis=0, dtype=np.float64).astype(np.float32) for z in (probes, templates))
        probe, template = means
        return self._distances(probe, template[None])[0]

    def verify(self, person: str, *recordings: np.ndarray) -> bool:
        """Verifies a person by recordings made at the same time. Returns True if the person is
        verified."""
        return self.scores(*recordings)[person] <= self.threshold

    def identify(self, *recordings: np.ndarray) -> str | None:
        """Identifies a person by recordings made at the same time. Returns the person's name, or
        None for a stranger.

        Raises:
            ValueError: If the scores of two people differ by at most the margin of the gallery.
        """
        scores = self.scores(*recordings)
        least = min(scores.values())
        if not least <= self.threshold:
            return None
        last = least + max(self.margin, TIE * abs(least))
        nearest = [name for name, score in scores.items() if score <= last]
        if len(nearest) > 1:
            raise ValueError(
                f"The people {' and '.join(nearest)} are about equally near, so nobody is "
                "identified."
            )
        return nearest[0]

    def _embedding(self, recording):
        batch = np.asarray(recording, np.float32)[None]
        inputs = self._embed.get_input_details()
        name = next(name for name in inputs if name != "length")
        shape = inputs[name]["shape_signature"]
        fits = batch.ndim == len(shape) and all(np.isin(shape, -1) | (shape == batch.shape))
        if not (fits and batch.size and np.isfinite(batch).all()):  # LiteRT does not check this
            expected = ", ".join("any" if size < 0 else str(size) for size in shape[1:])
            raise ValueError(
                f"A recording of shape {batch.shape[1:]} was received. A recording must have shape "
                f"({expected}) and hold only finite values."
            )
        if not self._least_steps <= batch.shape[1] <= self._most_steps:
            limits = f"at least {self._least_steps:g} and at most {self._most_steps:g}"
            raise ValueError(
                f"A recording has {batch.shape[1]} steps, but it must have {limits} steps."
            )
        length = {"length": np.int32(batch.shape[1])} if "length" in inputs else {}
        return self._embed(**{name: batch}, **length)["embedding"]

    def _distances(self, probe, templates):
        if self._distance_name == "affine_invariant":
            return affine_invariant(probe, templates)
        return self._distance(embedding=probe[None], gallery=templates)["distance"]


def log_likelihood_ratio(probes: np.ndarray, templates: np.ndarray) -> float:
    """Computes the log likelihood ratio of the two-covariance model: one person made all
    recordings, or two people made the probes and the templates.

    Args:
        probes: Embeddings of new recordings, shape `(count, 2, features)`. Row 0 of an embedding is
            the vector, and row 1 contains the variances between people.
        templates: Stored embeddings of a person, same form.
    """
    variances = templates[0, 1].astype(np.float64)
    x, y = (z[:, 0].mean(axis=0, dtype=np.float64) for z in (probes, templates))
    x_noise, y_noise = 1 / len(probes), 1 / len(templates)
    x_total, y_total = variances + x_noise, variances + y_noise
    determinant = variances * (x_noise + y_noise) + x_noise * y_noise
    squares = (x - y) ** 2 - x**2 * x_noise / x_total - y**2 * y_noise / y_total
    logs = np.log(determinant / (x_total * y_total))
    return float(-0.5 * (variances / determinant * squares + logs).sum())


def affine_invariant(tangent: np.ndarray, templates: np.ndarray) -> np.ndarray:
    """Computes the affine-invariant distances from a matrix to templates (stored embeddings).

    TFLite files have no builtin operator that computes eigenvalues, so this function uses NumPy.
    The function computes the singular values of `x^(-1/2) B`, where B is the Cholesky factor of a
    template. The squares of the singular values are the eigenvalues that the distance needs. Small
    eigenvalues are more accurate if they are computed from singular values.

    Args:
        tangent: Upper triangle of log(x), the logarithm of the matrix x.
        templates: Array `(n, k, k)` of n templates, which are matrices.
    """
    rows, columns = np.triu_indices(templates.shape[-1])
    log = np.zeros(templates.shape[1:])
    log[rows, columns] = log[columns, rows] = tangent / np.where(rows == columns, 1, np.sqrt(2))
    values, vectors = np.linalg.eigh(log)
    whitening = vectors * np.exp(-values / 2) @ vectors.T
    factors = np.linalg.cholesky(templates.astype(np.float64))
    singular = np.linalg.svd(whitening @ factors, compute_uv=False)
    return np.sqrt(((2 * np.log(singular)) ** 2).sum(axis=-1))


def check(folder: str | pathlib.Path = HERE) -> tuple[float, float]:
    """Compares scores that this device computes for the recording in `golden.npz` with the scores
    that the gallery computed.

    Returns:
        Two numbers: the largest difference between the two scores of a person, and the largest
        allowed difference.
    """
    with np.load(pathlib.Path(folder, "golden.npz"), allow_pickle=False) as golden:
        scores = Gallery(folder).scores(golden["recording"])
        scores = np.array([scores[person] for person in golden["people"].tolist()])
        return float(np.abs(scores - golden["scores"]).max()), float(golden["tolerance"])


def main(words: list[str]) -> bool:
    """Runs the command. Returns True if the recordings are accepted, or if the check succeeds."""
    if not words:
        difference, allowed = check()
        print(f"scores differ by {difference:.3g}, and a difference of {allowed:.3g} is allowed")
        return difference <= allowed
    person = None if words[0].endswith(".npy") else words[0]
    files = words if person is None else words[1:]
    if not files:
        raise ValueError(f"Received only {person!r}. Also give the recordings, in .npy files.")
    gallery, recordings = Gallery(), [np.load(file, allow_pickle=False) for file in files]
    if person is None:
        person = gallery.identify(*recordings)
        print(person or "a stranger")
        return person is not None
    accepted = gallery.verify(person, *recordings)
    print("accepted" if accepted else "rejected")
    return accepted


if __name__ == "__main__":
    try:
        sys.exit(0 if main(sys.argv[1:]) else 1)
    except Exception as error:  # Python itself would exit with 1, which means rejected
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
