"""Galleries and the recordings of files, for the commands on them."""

import contextlib
import itertools
import pathlib

from keras_dml import gallery as galleries
from keras_dml import recordings
from keras_dml.cli import _console, _models, _options, _words
from keras_dml.gallery import files as files_of_galleries
from keras_dml.gallery.files import Enrolled, enrolled
from keras_dml.progress import track


@contextlib.contextmanager
def opened(path, model=None, access=_options.Access(), *, may_be_new=False, paths=None, needs=None):
    """Opens a gallery, after checks that load no model.

    Args:
        path: Path of the gallery.
        model: Its model: name, path of the file or folder, or the `keras.Model`; None: the model
            that the gallery names.
        access: `_options.Access`.
        may_be_new: Whether to make the gallery if it does not exist.
        paths: Files and folders of recordings that must be there, or None.
        needs: Further arguments of `keras_dml.gallery.check`, `{name: value}`, or None.

    Yields:
        The `Gallery`.
    """
    is_there = galleries.exists(path)
    if not may_be_new:
        check_exists(path)
    for file in files(paths or ()):
        recordings.check_file(file)
    model = _models.named(model) if isinstance(model, str) else model
    if is_there:
        galleries.check(path, **vars(access), **(needs or {}))
    elif model is None:
        _refuse_without_model(path)
    with _console.stage(f"open {galleries.hide_password(path)}"):
        gallery = galleries.Gallery(path, model, **vars(access))
    with gallery:
        yield gallery


def check_exists(path):
    """Raises `FileNotFoundError` if the gallery at a path does not exist."""
    if not galleries.exists(path):
        raise FileNotFoundError(
            f"There is no gallery {path!r}. Make one: keras-dml enroll {path} PERSON FILES "
            "--model MODEL."
        )


def _refuse_without_model(path):
    """Refuses a new gallery without a model, in the words of `Gallery`."""
    if pathlib.Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a file in it, such as {path}/people.db.")
    raise ValueError(
        f"{path} is a new gallery: say which model its people are enrolled under, --model "
        "gait_qp_wl."
    )


CLIENT = ""  # of claims by commands


def needs(person=None, *, far=None, threshold=None, may_rank=False):
    """Returns what a decision needs of a gallery, for `opened`.

    Args:
        person: The person claimed, or None.
        far: Rate of the threshold, or None.
        threshold: A threshold in its place, or None.
        may_rank: Whether an answer without any threshold is of use.
    """
    needs_one = threshold is None and not (may_rank and far is None)
    decides_by = "threshold" if needs_one else None
    return {"person": person, "far": far, "decides_by": decides_by, "client": CLIENT}


def _explicit(reading):
    """Returns the options of a command for reading files that are not None."""
    options = {name: value for name, value in vars(reading).items() if value is not None}
    if "channels" in options:
        options["channels"] = options["channels"].split(",")
    if "time_unit" in options:
        options["time_unit"] = str(options["time_unit"])
    return options


def _shown(value):
    return ",".join(value) if isinstance(value, list) else value


class Reader(files_of_galleries.Reader):
    """Reads files as a gallery's model takes them, and says what was assumed in words of commands.

    Args:
        gallery: `Gallery`.
        reading: `_options.Reading`.
    """

    def __init__(self, gallery, reading):
        super().__init__(gallery, _explicit(reading))

    def remember(self):
        """Makes the gallery remember how its files were read, if it remembers nothing yet."""
        options = super().remember()
        if options:
            words = ", ".join(f"{name} {_shown(value)}" for name, value in options.items())
            _console.note(
                _console.plain(f"Note: the gallery remembers how files are read ({words}).")
            )

    @property
    def unsaid(self):
        """What none of the files that were read says, so that nobody has checked it: sentences."""
        return tuple(_words.replaced(text, _words.GALLERY) for text in super().unsaid)

    @property
    def notes(self):
        """Sentences about what was assumed about files, with the number of files of each."""
        return {
            _words.replaced(note, _words.GALLERY): count for note, count in super().notes.items()
        }

    def say(self):
        """Prints what the files do not say, and what was assumed about them."""
        for text in self.unsaid:
            _console.note(_console.plain(f"Note: {text}"))
        _console.file_notes(self.notes)


def one_file(path):
    """Returns the path of a recording, after a check that a file is there.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the name is empty, or is the name of a folder.
    """
    if path and pathlib.Path(path).is_dir():
        raise ValueError(f"{path} is a folder. Name one file.")
    (file,) = files([path])
    recordings.check_file(file)
    return file


def files(given):
    """Files of recordings, those in folders that are given included, but for hidden ones.

    Raises:
        FileNotFoundError: If there is no such file or folder.
        ValueError: If a folder has none, or a name is empty.
    """
    if "" in given:  # of a shell variable that is not set; a path of it is the folder one is in
        raise ValueError("The name of a file is empty; '.' is the folder one is in.")
    found = []
    for path in map(pathlib.Path, given):
        if not path.is_dir():
            found.append(path)
            continue
        shown = (
            entry
            for entry in path.rglob("*")
            if not any(part.startswith(".") for part in entry.relative_to(path).parts)
        )
        within = sorted(entry for entry in shown if recordings.is_recording(entry))
        if not within:
            raise ValueError(
                f"{path} holds no recordings: files that end in {', '.join(recordings.suffixes())}."
            )
        found += within
    missing = next((path for path in found if not path.exists()), None)
    if missing is not None:
        raise FileNotFoundError(f"There is no file {str(missing)!r}.")
    return found


def check_kinds(paths):
    """Raises `ValueError` if no file is of a kind that can be read, which the end of its name says.

    Single files of another kind are refused when they are read.
    """
    errors = []
    for path in paths:
        try:
            recordings.check_file(path)
            return
        except ValueError as error:
            errors.append(error)
    raise errors[0]


def observed(gallery, given, reading):
    """Reads files that are decided on together; one that the model does not take is an error.

    Returns:
        `(recordings, notes)`: arrays, and the number of files of each note.
    """
    reader = Reader(gallery, reading)
    found = [window for path in track(files(given), "reading") for window in reader.read(path)]
    reader.say()
    return found, reader.notes


def taken(reader, paths):
    """What `sorted_out` gives, with the progress of the work and notes."""
    found = sorted_out(reader, track(paths, "reading"))
    reader.say()
    return found


def sorted_out(reader, paths):
    """Returns what `keras_dml.gallery.files.sorted_out` does, with reasons in words of commands."""
    values, indices, refused = files_of_galleries.sorted_out(reader, paths)
    refused = {i: _words.replaced(reason, _words.GALLERY) for i, reason in refused.items()}
    return values, indices, refused


def enrolled_people(gallery, reader, listing):
    """Enrolls the people of a listing one after the other, with the progress of the work and notes.

    A file or a person who is refused does not affect the others.

    Args:
        gallery: `Gallery`.
        reader: `Reader`.
        listing: `keras_dml.recordings.Listing`.

    Returns:
        `{person: (Enrolled, paths)}`.
    """
    people, paths_of = {}, {}
    for entry in listing.recordings:
        paths_of.setdefault(entry.person, []).append(entry.path)
    all_paths = track([path for paths in paths_of.values() for path in paths], "enrolling")
    for person, paths in paths_of.items():
        recordings_of = sorted_out(reader, itertools.islice(all_paths, len(paths)))
        try:
            people[person] = enrolled(gallery, person, paths, recordings_of), paths
        except ValueError as error:  # such as a name that a gallery does not take
            reason = _words.replaced(str(error), _words.GALLERY)
            refused = {i: f"{path}: {reason}" for i, path in enumerate(paths)}
            count = gallery.people().get(person, 0)
            people[person] = Enrolled([], refused, count, {}), paths
    next(all_paths, None)  # ends the progress bar
    reader.say()
    return people
