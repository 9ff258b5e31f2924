"""Opens galleries and reads files of recordings, for the gallery commands."""

import contextlib
import importlib.util
import itertools
import os
import pathlib

from keras_dml import edge, recordings
from keras_dml import gallery as galleries
from keras_dml._messages import spelled
from keras_dml.cli import _console, _days, _extras, _models, _options
from keras_dml.gallery import files as gallery_files
from keras_dml.gallery.calibration import choose_threshold, provisional_by_name
from keras_dml.gallery.files import Enrolled, enrolled
from keras_dml.gallery.store import is_url
from keras_dml.progress import track
from keras_dml.zoo import lookup


@contextlib.contextmanager
def open_gallery(
    path,
    model=None,
    access=_options.Access(),
    *,
    engine=None,
    may_be_new=False,
    scoring=None,
    paths=None,
    needs=None,
):
    """Opens a gallery. Invalid arguments are reported before the model is loaded.

    Args:
        path: Path of the gallery.
        model: Name or path of the model, or the model of another open gallery. Default: the model
            that the gallery was created with.
        access: Keys of an encrypted gallery, an `_options.Access`.
        engine: Library that computes embeddings, an `_options.EngineName`. Default: see
            `engine_of`.
        may_be_new: If True, a gallery that does not exist is created.
        scoring: Scoring of a new gallery, an `_options.ScoringName`, or None.
        paths: Files and folders of recordings that must exist, or None.
        needs: Further arguments of `keras_dml.gallery.check`, a dict `{name: value}`, or None.

    Yields:
        The open `Gallery`.
    """
    is_there = galleries.exists(path)
    if not may_be_new:
        check_exists(path)
    for file in find_files(paths or ()):
        recordings.check_file(file)
    model = _models.resolve(model) if isinstance(model, str) else model
    if is_there:
        if model is None:
            _check_model_exists(path, access)
        elif needs and needs.get("decides_by") == "threshold":
            # `galleries.check` would read the card of the model that the gallery names
            card_thresholds = provisional_by_name(
                model, galleries.info(path, **vars(access)).scoring
            )
            choose_threshold(
                galleries.thresholds(path, **vars(access)), needs["far"], card_thresholds
            )
            needs = needs | {"far": None, "decides_by": None}
        galleries.check(path, **vars(access), **(needs or {}))
    elif model is None:
        _refuse_without_model(path)
    with _console.stage(f"open {galleries.hide_password(path)}"):
        gallery = _opened(path, model, access, engine, scoring)
    with gallery:
        yield gallery


def _opened(path, model, access, engine, scoring):
    scoring = None if scoring is None else scoring.value
    subject = "--engine keras"
    if engine is None:
        engine = engine_of(path, model, access)
        subject = "A gallery on a server" if is_url(path) else "A model without a .tflite file"
    if engine == _options.EngineName.edge:
        if access.keys is not None:
            raise ValueError(
                "--keys is for galleries on a server, which --engine edge cannot open."
            )
        return edge.Gallery(path, model, key=access.key, scoring=scoring)
    _extras.require_keras(subject, on_jax=True)
    return galleries.Gallery(path, model, **vars(access), scoring=scoring)


def engine_of(path, model, access):
    """Returns the name of the library that computes embeddings of a gallery, if the user names no
    library.

    The function chooses `edge` if the model has a .tflite file, and `keras` for other models. The
    function always chooses `keras` for galleries on a server. If neither LiteRT nor Keras is
    installed, the function chooses `edge`, so that the error asks for the smaller package.

    Args:
        path: Path of the gallery.
        model: Name or path of the model, the model of another open gallery, or None.
        access: Keys of an encrypted gallery, an `_options.Access`.
    """
    if is_url(path):
        return _options.EngineName.keras
    if model is None:
        model = galleries.info(path, **vars(access)).model
    return engine_of_model(model)


def engine_of_model(model):
    """Returns the library that computes embeddings of a model, as in `engine_of`.

    Args:
        model: Name or path of the model, a `keras_dml.edge.Model`, or a `keras.Model`.
    """
    is_name = isinstance(model, str | os.PathLike)
    is_edge = edge.can_load(model) if is_name else isinstance(model, edge.Model)
    if not is_edge:
        is_edge = not any(map(importlib.util.find_spec, ("ai_edge_litert", "keras")))
    return _options.EngineName.edge if is_edge else _options.EngineName.keras


def load_model(name, engine=None):
    """Loads a model without a gallery, and returns a `keras_dml.gallery.model.GalleryModel`.

    Args:
        name: Name or path of the model.
        engine: Library that computes embeddings, see `open_gallery`.
    """
    if (engine or engine_of_model(name)) == _options.EngineName.edge:
        from keras_dml.edge.gallery import EdgeModel

        return EdgeModel(name)
    subject = "--engine keras" if engine else "A model without a .tflite file"
    _extras.require_keras(subject, on_jax=True)
    from keras_dml.gallery.keras_model import KerasModel  # loads Keras

    return KerasModel(name)


def check_exists(path):
    """Raises `FileNotFoundError` if no gallery exists at the path."""
    if not galleries.exists(path):
        raise FileNotFoundError(
            f"The gallery {path!r} does not exist. Create it: keras-dml enroll {path} PERSON FILES "
            "--model MODEL."
        )


def _check_model_exists(path, access):
    """Raises `FileNotFoundError` if the gallery in a file names the path of a model that was moved
    or removed."""
    if is_url(path):
        return
    model = galleries.info(path, **vars(access)).model
    if model is None or not lookup.is_path(model):
        return
    if not pathlib.Path(model).exists() and not edge.can_load(model):
        raise FileNotFoundError(
            f"The people of {path} were enrolled with the model {model!r}, which does not exist. "
            "If the model was moved, name its new path with --model."
        )


def _refuse_without_model(path):
    """Raises `ValueError`, because a new gallery needs a model."""
    if pathlib.Path(path).is_dir():
        raise ValueError(f"{path} is a folder. Name a file in it, such as {path}/people.db.")
    raise ValueError(
        f"{path} is a new gallery, and a new gallery needs a model. Name a model, for example with "
        "--model gait_qp_wl."
    )


MOST_LEFT_OUT = 3  # number of reasons printed if no file is used; they are often the same
CLIENT = ""  # name under which the gallery counts claims of the command line


def decision_requirements(person=None, *, far=None, threshold=None, may_rank=False):
    """Returns the argument `needs` of `open_gallery` for a command that makes a decision.

    Args:
        person: The claimed person, or None.
        far: False accept rate of the threshold to use, or None.
        threshold: Threshold that replaces the thresholds of the gallery, or None.
        may_rank: Whether the command can list the nearest people instead of making a decision.
            Listing the nearest people needs no threshold.
    """
    needs_threshold = threshold is None and not (may_rank and far is None)
    decides_by = "threshold" if needs_threshold else None
    return {"person": person, "far": far, "decides_by": decides_by, "client": CLIENT}


def _explicit_options(reading):
    """Returns the reading options that the user gave on the command line, `{name: value}`."""
    options = {name: value for name, value in vars(reading).items() if value is not None}
    if "channels" in options:
        options["channels"] = options["channels"].split(",")
    if "time_unit" in options:
        options["time_unit"] = str(options["time_unit"])
    return options


class Reader(gallery_files.Reader):
    """Reads files for a gallery's model. The error messages name command-line options instead of
    arguments.

    Args:
        gallery: The open `Gallery`.
        reading: Options for reading files, an `_options.Reading`.
    """

    def __init__(self, gallery, reading):
        super().__init__(gallery, _explicit_options(reading))

    def remember(self):
        """Stores the reading options in the gallery, unless the gallery already stores options."""
        options = super().remember()
        if options:
            words = _options.as_typed(options)
            _console.note(
                _console.escape(f"Note: the gallery reads all files with these options: {words}")
            )

    @property
    def unsaid(self):
        """Sentences about rates and units that no file states, and that were therefore not
        checked."""
        return tuple(spelled(text, _options.GALLERY_NAMES) for text in super().unsaid)

    @property
    def notes(self):
        """Assumptions about files, a dictionary `{sentence: number of files}`."""
        return {
            spelled(note, _options.GALLERY_NAMES): count for note, count in super().notes.items()
        }

    def print_notes(self):
        """Prints which properties the files do not state, and what was assumed about the files."""
        for text in self.unsaid:
            _console.note(_console.escape(f"Note: {text}"))
        _console.print_file_notes(self.notes)


class _WithoutGallery:
    """Model with the attributes of a gallery that `Reader` needs."""

    def __init__(self, model):
        self.inputs, self.unfit = model.inputs, model.unfit
        self.reading = {}  # there is no enrollment that stored options


def reader_of_model(model, reading):
    """Returns a `Reader` of files for a model without a gallery.

    Args:
        model: A `keras_dml.gallery.model.GalleryModel`.
        reading: Options for reading files, an `_options.Reading`.
    """
    return Reader(_WithoutGallery(model), reading)


def find_file(path):
    """Checks the name and the format of a recording's file, and returns its path.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If the name is empty, if the path is a folder, or if the format cannot be read.
    """
    if path and pathlib.Path(path).is_dir():
        raise ValueError(f"{path} is a folder. Name one file.")
    (file,) = find_files([path])
    recordings.check_file(file)
    return file


def find_files(names):
    """Returns the paths of the given files, and of all recordings in the given folders.

    Hidden files in folders are left out.

    Raises:
        FileNotFoundError: If a file or folder does not exist.
        ValueError: If a folder contains no recordings, or if a name is empty.
    """
    if "" in names:  # such as an unset shell variable; Path("") would be the current folder
        raise ValueError("The name of a file is empty. Name a file, or '.' for the current folder.")
    paths = []
    for path in map(pathlib.Path, names):
        if not path.is_dir():
            paths.append(path)
            continue
        visible = (
            entry
            for entry in path.rglob("*")
            if not any(part.startswith(".") for part in entry.relative_to(path).parts)
        )
        contents = sorted(entry for entry in visible if recordings.is_recording(entry))
        if not contents:
            raise ValueError(
                f"{path} contains no recordings. Names of recordings end in "
                f"{', '.join(recordings.suffixes())}."
            )
        paths += contents
    missing = next((path for path in paths if not path.exists()), None)
    if missing is not None:
        raise FileNotFoundError(f"The file {str(missing)!r} does not exist. Check its path.")
    return paths


def check_formats(paths):
    """Raises `ValueError` if no file has a suffix of a format that can be read.

    If at least one file has a readable format, no error is raised. Files in other formats raise an
    error later, when they are read.
    """
    errors = []
    for path in paths:
        try:
            recordings.check_file(path)
            return
        except ValueError as error:
            errors.append(error)
    raise errors[0]


def read_probe(gallery, names, reading):
    """Reads files whose recordings were made at the same time, for one common decision.

    Returns:
        Tuple `(recordings, notes)`. `recordings` are arrays `(time, channels)`, and `notes` is a
        dict `{note: number of files}`.

    Raises:
        ValueError: If the model does not accept one of the files.
    """
    reader = Reader(gallery, reading)
    paths = track(find_files(names), "reading")
    windows = [window for path in paths for window in reader.read(path)]
    reader.print_notes()
    return windows, reader.notes


def read_recordings(reader, paths):
    """Calls `read_each` with a progress bar, and prints the reader's notes."""
    result = read_each(reader, track(paths, "reading"))
    reader.print_notes()
    return result


def read_each(reader, paths):
    """Reads files with `gallery.files.sorted_out`.

    The reasons for refusals name command-line options instead of Python arguments.
    """
    values, indices, refused = gallery_files.sorted_out(reader, paths)
    refused = {i: spelled(reason, _options.GALLERY_NAMES) for i, reason in refused.items()}
    return values, indices, refused


def read_listing(reader, listing):
    """Reads the recordings of a listing, and prints which files were left out, and why.

    Returns:
        Tuple `(recordings, entries, refused)`. `entries` contains the `keras_dml.recordings.Listed`
        of each recording, and `refused` is a dict `{index: reason}`.

    Raises:
        ValueError: If the model does not accept any file.
    """
    paths = [entry.path for entry in listing.recordings]
    values, indices, refused = read_recordings(reader, paths)
    left_out = [f"{path} is not a recording." for path in listing.skipped]
    _note_left_out([*left_out, *refused.values()], any_used=bool(values))
    if not values:
        reason = next(iter(refused.values()))
        raise ValueError(f"The model does not take any of the {len(paths)} files. {reason}")
    return values, [listing.recordings[i] for i in indices], refused


def _note_left_out(reasons, *, any_used):
    """Prints why files were left out. If no file was used, prints at most `MOST_LEFT_OUT`
    reasons."""
    count = len(reasons) if any_used else MOST_LEFT_OUT
    for reason in reasons[:count]:
        _console.note(_console.escape(f"Left out: {reason}"))
    if count < len(reasons):
        _console.note(f"Left out: {len(reasons) - count} more files.")


def enroll_people(gallery, reader, listing):
    """Enrolls the people of a listing one after the other, with a progress bar and notes.

    If a file or a person is refused, the other people are still enrolled.

    Args:
        gallery: The open `Gallery`.
        reader: The `Reader` of the files.
        listing: The `keras_dml.recordings.Listing` of the files.

    Returns:
        Dict `{person: (Enrolled, paths)}`.
    """
    people, paths_by_person = {}, {}
    sessions = {entry.path: entry.session for entry in listing.recordings}
    for entry in listing.recordings:
        paths_by_person.setdefault(entry.person, []).append(entry.path)
    all_paths = track([path for paths in paths_by_person.values() for path in paths], "enrolling")
    for person, paths in paths_by_person.items():
        results = read_each(reader, itertools.islice(all_paths, len(paths)))
        try:
            days = _days.labels(paths, sessions)
            people[person] = enrolled(gallery, person, paths, results, days), paths
        except ValueError as error:  # for example an invalid name
            reason = spelled(error, _options.GALLERY_NAMES)
            refused = {i: f"{path}: {reason}" for i, path in enumerate(paths)}
            count = gallery.people().get(person, 0)
            people[person] = Enrolled([], refused, count, {}), paths
    next(all_paths, None)  # ends the progress bar
    reader.print_notes()
    return people
