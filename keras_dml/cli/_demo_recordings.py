"""Recordings of the demo: speakers from the package, walkers from the public archive."""

import dataclasses
import pathlib

import numpy as np

from keras_dml.cli import _extras

VOWELS = pathlib.Path(__file__).with_name("demo_data") / "japanese_vowels.npz"
WINDOW = 512  # steps at 100 Hz: 5.12 s, four or five strides


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Recordings of people on whom the model was not trained.

    Attributes:
        enrolled: Enrolled recordings, arrays `(time, channels)`.
        enrolled_people: Person of each.
        probes: Recordings observed later, arrays `(time, channels)`.
        probe_people: Person of each.
        person: Word for a person: `"speaker"`.
        unit: Word for a recording: `"utterance"`.
        observed: Numbers of probes that are scored together.
        source: Data, sessions and license, for captions.
        notes: Recordings left out, and why.
    """

    enrolled: list[np.ndarray]
    enrolled_people: np.ndarray
    probes: list[np.ndarray]
    probe_people: np.ndarray
    person: str
    unit: str
    observed: tuple[int, ...]
    source: str
    notes: tuple[str, ...] = ()

    @property
    def people(self):
        """Names of the people, the shortest first."""
        return sorted(set(self.enrolled_people.tolist()), key=lambda name: (len(name), name))

    def label(self, person):
        """Label of a person in figures and tables: `speaker 6`."""
        return f"{self.person} {person}"


def vowels(trained_on):
    """The speakers of the Japanese Vowels set that a model was not trained on.

    Args:
        trained_on: The card's `train_subjects`.

    Returns:
        `Recordings`: enrolled from `ae.train`, probes from `ae.test`.

    Raises:
        ValueError: If fewer than three speakers are left.
    """
    with np.load(VOWELS) as data:
        utterances = np.split(data["frames"], np.cumsum(data["lengths"])[:-1])
        speakers, parts = data["speakers"].astype(str), data["parts"]
    unseen = ~np.isin(speakers, [str(name) for name in trained_on])
    _check_people(speakers[unseen], "speakers of the Japanese Vowels set")
    enrolled, probes = (np.flatnonzero(unseen & (parts == part)) for part in ("train", "test"))
    return Recordings(
        enrolled=[utterances[i] for i in enrolled],
        enrolled_people=speakers[enrolled],
        probes=[utterances[i] for i in probes],
        probe_people=speakers[probes],
        person="speaker",
        unit="utterance",
        observed=(1, 5),
        source="Japanese Vowels (Kudo et al. 1999; UCI, CC BY 4.0): one vowel, enrolled from "
        "ae.train, observed from ae.test.",
    )


def gait(trained_on, manual_dir, data_dir=None):
    """The walkers of the public gait archive that a model was not trained on.

    Each person's last walk is observed, the earlier ones are enrolled, in windows of 5.12 s without
    overlap between the first and the last annotated step of the left foot.

    Args:
        trained_on: The card's `train_subjects`.
        manual_dir: The folder that holds the archive.
        data_dir: Where the prepared data set is kept; TFDS's own folder when None.

    Returns:
        `Recordings`.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or fewer than three people are left.
    """
    _extras.require_data("The gait archive")
    from tfds_builders import reading

    walks, left_out = {}, 0
    for records in reading.records("ipol_gait/left_foot", manual_dir, data_dir).values():
        for record in records:
            subject = record["subject"].decode()
            if subject not in trained_on:
                windows = between_steps(record["sequence"], record["steps"])
                left_out += not windows
                if windows:
                    walks.setdefault(subject, {})[int(record["trial"])] = windows
    known = {subject: trials for subject, trials in walks.items() if len(trials) > 1}
    _check_people(list(known), "people of the gait archive with two walks")
    enrolled, probes = [], []
    for subject, trials in known.items():
        *earlier, last = sorted(trials)
        enrolled += [(subject, window) for trial in earlier for window in trials[trial]]
        probes += [(subject, window) for window in trials[last]]
    return Recordings(
        enrolled=[window for _, window in enrolled],
        enrolled_people=np.array([subject for subject, _ in enrolled]),
        probes=[window for _, window in probes],
        probe_people=np.array([subject for subject, _ in probes]),
        person="walker",
        unit="window",
        observed=(1, 2),
        source="Human locomotion (Truong et al. 2019; IPOL, CC BY-NC-SA): windows of 5.12 s "
        "between the first and the last step of the left foot, the last walk observed, earlier "
        "ones enrolled.",
        notes=_left_out(left_out, len(walks) - len(known)),
    )


def between_steps(sequence, steps):
    """Windows without overlap from the first annotated step to the last; people stand before and
    after.

    Args:
        sequence: Shape `(time, channels)`.
        steps: First and last sample of each step, shape `(steps, 2)`.

    Returns:
        List of arrays `(512, channels)`; empty where the walk is shorter.
    """
    if not len(steps):
        return []
    first, last = int(steps.min()), int(steps.max())
    return [
        np.asarray(sequence[start : start + WINDOW], np.float32)
        for start in range(first, last - WINDOW + 1, WINDOW)
    ]


def _check_people(people, which):
    count = len(set(people))
    if count < 3:
        raise ValueError(
            f"The demo needs three {which} whom the model was not trained on, two to enroll and an "
            f"imposter. There are {count}: the model's card names the others as `train_subjects`."
        )


def _left_out(short, single):
    counts = {"Walks shorter than 5.12 s": short, "People with a single walk": single}
    return tuple(f"{what}, left out: {count}" for what, count in counts.items() if count)
