"""Recordings of the demo as files: walkers from the package, or from the public gait archive."""

import dataclasses
import pathlib

import numpy as np

from keras_dml import _files
from keras_dml.cli import _demo_files, _extras
from keras_dml.cli._options import Reading

WALKS = pathlib.Path(__file__).with_name("demo_data") / "walks"
WALKERS, STRANGER = ("s05", "s21", "s22"), "s17"
ENROLLED_WALKS = 5  # as many as the thresholds of the card are for
MOST_PEOPLE = 4  # of the gait archive, including the stranger
WINDOW = 512  # steps at 100 Hz: 5.12 s, four or five strides
ENROLLED, NEW = "recordings/enrolled", "recordings/new"


@dataclasses.dataclass(frozen=True)
class Recordings:
    """Files of people whom the model has not seen.

    Attributes:
        enrolled: Files to enroll, by person; paths within the folder of the demo.
        new: Files that are observed later, by person. People who are not enrolled are strangers.
        unit: Word for a recording, such as `"walk"`.
        source: Data and license, for captions.
        choice: How these people were chosen.
        reading: How the files are read.
    """

    enrolled: dict[str, list[str]]
    new: dict[str, list[str]]
    unit: str
    source: str
    choice: str
    reading: Reading = Reading()

    @property
    def strangers(self):
        """People who are not enrolled."""
        return [name for name in self.new if name not in self.enrolled]


def walks(card, out):
    """Copies the walks that the package carries: files of a watch with its own clock.

    The first five walks of each walker are to be enrolled. Later walks are observed, and all walks
    of the stranger.

    Args:
        card: The card of the model.
        out: Folder of the demo.

    Returns:
        `Recordings`.

    Raises:
        ValueError: If the model was trained on one of these people.
    """
    seen = sorted({*WALKERS, STRANGER} & set(card["data"]["train_subjects"]))
    if seen:
        raise ValueError(
            f"The model was trained on {', '.join(seen)}, and the demo needs people whom it has "
            "not seen. Load the published model: unset KERAS_DML_ZOO."
        )
    enrolled, new = {}, {}
    for name in (*WALKERS, STRANGER):
        files = sorted((WALKS / name).glob("*.csv"))
        count = 0 if name == STRANGER else ENROLLED_WALKS
        if count:
            enrolled[name] = [f"{ENROLLED}/{name}/{file.name}" for file in files[:count]]
        new[name] = [f"{NEW}/{name}-{file.name}" for file in files[count:]]
        for file, path in zip(files, enrolled.get(name, []) + new[name], strict=True):
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            _files.write_text(out / path, file.read_text())
    return Recordings(
        enrolled=enrolled,
        new=new,
        unit="walk",
        source="Acceleration of a watch, four to six seconds of walking per walk, one sitting per "
        "person (Matey-Sanz et al. 2023, CC BY 4.0).",
        choice="These are the people with the best decisions among 20 choices of three people to "
        "enroll and a stranger, of five people whom the model has not seen. Over all choices it "
        "accepts 62 to 100 % of the true claims and rejects 96 to 100 % of the false ones.",
        reading=Reading(resample=True),
    )


def gait(card, out, manual_dir, data_dir=None):
    """Writes files of walkers of the public gait archive whom the model was not trained on.

    The last walk of each person is observed, and the earlier walks are to be enrolled, in windows
    of 5.12 s without overlap between the first and the last annotated step of the left foot.

    Args:
        card: The card of the model.
        out: Folder of the demo.
        manual_dir: The folder that holds the archive.
        data_dir: Where the prepared data set is kept; TFDS's own folder when None.

    Returns:
        `Recordings` of three people and a stranger; two if there are no more.

    Raises:
        ImportError: If TensorFlow Datasets is not installed.
        ValueError: If the archive is missing or wrong, or fewer than three people are left.
    """
    _extras.require_data("The gait archive")
    from tfds_builders import reading

    trials = {}
    for records in reading.records("ipol_gait/left_foot", manual_dir, data_dir).values():
        for record in records:
            subject = record["subject"].decode()
            windows = between_steps(record["sequence"], record["steps"])
            if windows and subject not in card["data"]["train_subjects"]:
                trials.setdefault(subject, {})[int(record["trial"])] = windows
    people = sorted(
        (name for name in trials if len(trials[name]) > 1), key=lambda name: (len(name), name)
    )
    if len(people) < 3:
        raise ValueError(
            "The demo needs three people of the gait archive with two walks whom the model was not "
            f"trained on, two to enroll and a stranger. There are {len(people)}: the model's card "
            "names the others as `train_subjects`."
        )
    *walkers, stranger = people[:MOST_PEOPLE]
    enrolled, new = {}, {}
    for name in (*walkers, stranger):
        *earlier, last = (trials[name][trial] for trial in sorted(trials[name]))
        new[f"walker-{name}"] = _written(last, out, f"{NEW}/walker-{name}-", card["input"])
        if name != stranger:
            windows = [window for walk in earlier for window in walk]
            enrolled[f"walker-{name}"] = _written(
                windows, out, f"{ENROLLED}/walker-{name}/", card["input"]
            )
    return Recordings(
        enrolled=enrolled,
        new=new,
        unit="window",
        source="Human locomotion (Truong et al. 2019; IPOL, CC BY-NC-SA): windows of 5.12 s "
        "between the first and the last step of the left foot; the last walk is observed, earlier "
        "walks are enrolled.",
        choice="These are the first people of the archive whom the model has not seen.",
    )


def between_steps(sequence, steps):
    """Returns windows without overlap from the first annotated step to the last; people stand
    before and after.

    Args:
        sequence: Shape `(time, channels)`.
        steps: First and last sample of each step, shape `(steps, 2)`.

    Returns:
        List of arrays `(512, channels)`; empty if the walk is shorter.
    """
    if not len(steps):
        return []
    first, last = int(steps.min()), int(steps.max())
    return [
        np.asarray(sequence[start : start + WINDOW], np.float32)
        for start in range(first, last - WINDOW + 1, WINDOW)
    ]


def _written(windows, out, stem, takes):
    """Writes windows as files; returns their paths within the folder of the demo."""
    paths = [f"{stem}{i:02d}.csv" for i in range(1, len(windows) + 1)]
    for path, window in zip(paths, windows, strict=True):
        _demo_files.write(out / path, window, takes)
    return paths
