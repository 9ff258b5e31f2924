"""Decides whose a recording is, with NumPy and ai-edge-litert alone. This file lies beside
`model.tflite`, `gallery.npz` and `golden.npz`, and needs nothing else.

    python decide.py RECORDING.npy ...           whose it is; exit 0, or 1 for a stranger
    python decide.py PERSON RECORDING.npy ...    whether it is the person's; exit 0, or 1 if not
    python decide.py                             whether this device decides as the gallery did

Several recordings are of one moment and decided on together. An error exits with 2.
"""

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
TIE = 1e-5  # fraction by which scores of equal templates differ


class Gallery:
    """People, their threshold and the model, in a folder."""

    def __init__(self, folder=HERE):
        from ai_edge_litert.interpreter import Interpreter  # if missing an error, not a no

        file = Interpreter(str(pathlib.Path(folder, "model.tflite")), num_threads=1)
        self._embed, self._distance = map(file.get_signature_runner, ("embed", "distance"))
        with np.load(pathlib.Path(folder, "gallery.npz"), allow_pickle=False) as arrays:
            self._templates, self._owner, self._enrolled = (
                arrays[name] for name in ("templates", "owner", "enrolled")
            )
            self._compared_by = str(arrays["distance"])
            self._least_steps, self._most_steps = arrays["steps"]
            self.people, self.threshold = arrays["people"].tolist(), float(arrays["threshold"])

    def scores(self, *recordings):
        """By person the mean over the recordings of the least distance to those enrolled; infinite
        where one is nearer to a recording that is marked as not the person's."""
        distances = np.stack([self._distances(recording) for recording in recordings])
        found = {}
        for i, person in enumerate(self.people):
            owned = self._owner == i
            own = distances[:, owned & self._enrolled].min(axis=1)
            marked = distances[:, owned & ~self._enrolled].min(axis=1, initial=np.inf)
            found[person] = np.inf if (marked < own).any() else float(own.mean())
        return found

    def verify(self, person, *recordings):
        """Whether recordings of one moment are a person's."""
        return self.scores(*recordings)[person] <= self.threshold

    def identify(self, *recordings):
        """Whose recordings of one moment are; None: a stranger's. People who are equally near are
        an error."""
        scores = self.scores(*recordings)
        least = min(scores.values())
        if not least <= self.threshold:
            return None
        nearest = [name for name, score in scores.items() if score <= least + TIE * abs(least)]
        if len(nearest) > 1:
            raise ValueError(f"{' and '.join(nearest)} are equally near: no decision.")
        return nearest[0]

    def _distances(self, recording):
        given = np.asarray(recording, np.float32)[None]
        inputs = self._embed.get_input_details()
        name = next(name for name in inputs if name != "length")
        shape = inputs[name]["shape_signature"]
        fits = given.ndim == len(shape) and all(np.isin(shape, -1) | (shape == given.shape))
        if not (fits and given.size and np.isfinite(given).all()):  # LiteRT would not say it
            wanted = ", ".join("any" if size < 0 else str(size) for size in shape[1:])
            raise ValueError(f"A recording is finite, of shape ({wanted}); not {given.shape[1:]}.")
        if not self._least_steps <= given.shape[1] <= self._most_steps:
            limits = f"at least {self._least_steps:g} and at most {self._most_steps:g}"
            raise ValueError(f"A recording has {limits} steps; not {given.shape[1]}.")
        length = {"length": np.int32(given.shape[1])} if "length" in inputs else {}
        probe = self._embed(**{name: given}, **length)["embedding"]
        if self._compared_by == "affine_invariant":
            return affine_invariant(probe[0], self._templates)
        return self._distance(embedding=probe, gallery=self._templates)["distance"]


def affine_invariant(tangent, templates):
    """Computes distances of a matrix, given by the upper triangle of its logarithm, to templates.

    No operator of a device computes eigenvalues. The singular values of `x^(-1/2) B`, with Cholesky
    factors B of the templates, keep the digits of the smallest eigenvalues.
    """
    rows, columns = np.triu_indices(templates.shape[-1])
    log = np.zeros(templates.shape[1:])
    log[rows, columns] = log[columns, rows] = tangent / np.where(rows == columns, 1, np.sqrt(2))
    values, vectors = np.linalg.eigh(log)
    whitening = vectors * np.exp(-values / 2) @ vectors.T
    factors = np.linalg.cholesky(templates.astype(np.float64))
    singular = np.linalg.svd(whitening @ factors, compute_uv=False)
    return np.sqrt(((2 * np.log(singular)) ** 2).sum(axis=-1))


def checked(folder=HERE):
    """Largest difference of the golden probe's scores from the gallery's, and what is allowed."""
    with np.load(pathlib.Path(folder, "golden.npz"), allow_pickle=False) as golden:
        found = Gallery(folder).scores(golden["recording"])
        found = np.array([found[person] for person in golden["people"].tolist()])
        return float(np.abs(found - golden["scores"]).max()), float(golden["tolerance"])


def main(words):
    if not words:
        found, allowed = checked()
        print(f"scores differ by {found:.3g} from the gallery's, {allowed:.3g} is allowed")
        return found <= allowed
    person = None if words[0].endswith(".npy") else words[0]
    files = words if person is None else words[1:]
    if not files:
        raise ValueError(f"Give recordings, in files that end in .npy; not {person!r} alone.")
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
    except Exception as error:  # Python itself would exit with 1, which means no
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
