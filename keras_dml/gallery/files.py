"""Recordings of files, read as the model of a gallery takes them."""

import dataclasses
import warnings
from typing import NamedTuple

from keras_dml import recordings

NO_UNIT = "as recorded"  # of a model whose own recordings did not say theirs
UNITS_NOT_SAID = {"[-1, 1]", "1", NO_UNIT}  # the first is that of sound, by nature


class Reader:
    """Reads files as a gallery's model takes them.

    Args:
        gallery: `Gallery`.
        options: Options of `keras_dml.recordings.read_pieces` and `resample`, by name. They come
            before those that the gallery remembers.
    """

    def __init__(self, gallery, options):
        from keras_dml import inputs  # loads a backend

        self._gallery, self._taken = gallery, inputs.from_model(gallery.model)
        self._contract = self._taken.contract
        self._read_pieces, self._ahead = recordings.read_pieces, {}
        self._unsaid, self._files = {}, {}
        self._file_rate_hz = self._file_units = None
        self._explicit = dict(options)
        remembered = dict(gallery.reading)
        self._units = remembered.pop("units", None)
        options = remembered | self._explicit
        without_rate = {name: value for name, value in options.items() if name != "rate_hz"}
        self._attempts = [options]
        for fallback in (without_rate | self._explicit, self._explicit):
            if fallback not in self._attempts:
                self._attempts.append(fallback)

    def remember(self):
        """Makes the gallery remember how its files were read, if it remembers nothing yet.

        Returns:
            The options that it remembers now, without the units; empty if it remembered some.
        """
        if self._gallery.reading:
            return {}
        self._gallery.remember_reading({"units": self._file_units, **self._explicit})
        return self._explicit

    def read_ahead(self, paths, read):
        """Reads files before `read` is called, such as in another thread: this needs no gallery.
        `read` raises the error of a file that the model does not take.

        Args:
            paths: The files.
            read: Function that reads a file as `keras_dml.recordings.read_pieces` does.
        """
        self._read_pieces = read
        for path in paths:
            try:
                self._ahead[path] = self.longest(path)
            except ValueError as error:
                self._ahead[path] = error

    def beginning(self, path):
        """Reads a file up to its first long gap, shape `(time, channels)`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it has other channels, rate or units than the model's.
        """
        pieces = self._pieces(path)
        self._files = {note: {"the file"} for note in pieces[0].notes}
        return pieces[0].values

    def longest(self, path):
        """Reads the longest piece of a file between long gaps, shape `(time, channels)`.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it has other channels, rate or units than the model's.
        """
        pieces = self._pieces(path)
        notes = list(pieces[0].notes)
        if len(pieces) > 1:
            notes.append("The longest piece between the gaps was used.")
        for note in notes:
            self._files.setdefault(note, set()).add(str(path))
        return max((piece.values for piece in pieces), key=len)

    def _pieces(self, path):
        """Reads the pieces of a file by the first options that fit it: those of the command with
        those that the gallery remembers, the same without the rate, and those of the command."""
        first_error = None
        for options in self._attempts:
            try:
                return self._pieces_by(path, options)
            except ValueError as error:
                first_error = first_error or error
        raise first_error

    def _pieces_by(self, path, options):
        options = dict(options)
        channels = options.pop("channels", None)
        if channels is None and self._contract is not None:
            channels = self._contract.channels
        is_resampled = options.pop("resample", False)
        if is_resampled and self._contract is not None:
            options["resample_hz"] = self._contract.rate_hz
        pieces = self._read_pieces(path, channels, **options)
        units = pieces[0].units
        if self._contract is not None:
            self._check_rate(pieces[0])
            if len(units) == len(self._contract.units):
                pieces = [self._in_units(piece) for piece in pieces]
            self._check_units(pieces[0])
        if self._file_rate_hz is None and not is_resampled:
            self._file_rate_hz = pieces[0].rate_hz
        if self._file_units is None and None not in units:
            self._file_units = list(units)
        return pieces

    def _in_units(self, piece):
        """A piece in the units of the model. A file that does not say its units has those of the
        files of the first enrollment."""
        if {*piece.units} == {None} and self._units and len(self._units) == len(piece.units):
            if tuple(self._units) != tuple(self._contract.units):
                note = (
                    "The file does not say its units: those of the first enrollment, "
                    f"{', '.join(dict.fromkeys(self._units))}, were assumed."
                )
                notes = (*piece.notes, note)
                piece = dataclasses.replace(piece, units=tuple(self._units), notes=notes)
        return recordings.convert(piece, self._contract.units)

    def values(self, path):
        """Returns `longest` of a file, which may have been read ahead."""
        values = self._ahead[path] if path in self._ahead else self.longest(path)
        if isinstance(values, ValueError):
            raise values
        return values

    def read(self, path):
        """The recordings in a file: one, or windows as long as the model takes at most.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the model does not take it, or it is unfit; the message names the file.
        """
        windows = self._windows(self.values(path))
        for window in windows:
            self._check(path, window)
        for reason in self._gallery.unfit(windows).values():
            raise ValueError(f"{path}: {reason}.")
        return windows

    @property
    def rate_hz(self):
        """Steps per second of the recordings: of the model, or of the first file that says its own;
        None if neither says it."""
        expected = self._contract and self._contract.rate_hz
        return self._file_rate_hz if expected is None else expected

    def steps(self, seconds):
        """Returns the number of steps in a time.

        Raises:
            ValueError: If the rate is unknown, or a step is longer than the time.
        """
        if self.rate_hz is None:
            raise ValueError(
                "Neither the model nor the files say the steps per second, by which seconds are "
                "counted. Give `rate_hz`."
            )
        steps = round(seconds * self.rate_hz)
        if steps < 1:
            raise ValueError(
                f"{seconds:g} seconds are shorter than a step at {self.rate_hz:g} Hz. Give more."
            )
        return steps

    def duration(self, steps):
        """Returns a number of steps in words: the time, or the steps if the rate is unknown."""
        return f"{steps:,} steps" if self.rate_hz is None else f"{steps / self.rate_hz:.3g} s"

    @property
    def unsaid(self):
        """What none of the files that were read says, so that nobody has checked it: sentences."""
        return tuple(self._unsaid)

    @property
    def notes(self):
        """Sentences about what was assumed about files, with the number of files of each."""
        return {note: len(paths) for note, paths in self._files.items()}

    def _check_rate(self, found):
        expected = self._contract.rate_hz
        if expected is None:
            return
        if found.rate_hz is None:
            self._unsaid[
                f"the files do not say their rate; the model takes {expected:g} Hz. `rate_hz` "
                "says it."
            ] = True
        elif not recordings.is_same_rate(found.rate_hz, expected):
            raise ValueError(
                f"{found.path} has {found.rate_hz:.6g} Hz, the model takes {expected:g} Hz. "
                "`resample_hz` brings it to that."
            )

    def _check_units(self, found):
        if len(found.units) != len(self._contract.units):
            return  # the number of channels is refused with those expected
        for name, said, taken in zip(
            found.channels, found.units, self._contract.units, strict=True
        ):
            if NO_UNIT != taken and said is not None and said != taken:
                raise ValueError(
                    f"{found.path} says that channel {name!r} is in {said}, the model takes "
                    f"{taken}. Convert it; if they are one unit, write it as the model does."
                )
        units = dict.fromkeys(self._contract.units)
        if None in found.units and not {*units} <= UNITS_NOT_SAID:
            self._unsaid[
                f"the files do not say their units; the model takes {', '.join(units)}."
            ] = True

    def _windows(self, values):
        longest = self._contract and self._contract.max_steps
        if longest is None or len(values) <= longest:
            return [values]
        cut = [values[start : start + longest] for start in range(0, len(values), longest)]
        return cut if len(cut[-1]) >= self._contract.min_steps else cut[:-1]

    def _check(self, path, window):
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                self._taken.read([window])  # `embed` warns once for all
        except ValueError as error:
            raise ValueError(str(error).replace(f"{self._taken.name} 0", str(path), 1)) from None


def sorted_out(reader, paths):
    """Recordings of those files that the model takes.

    Returns:
        `(recordings, indices, refused)`: arrays, the index of the file of each, and why a file has
        none, by its index.
    """
    found, indices, refused = [], [], {}
    for i, path in enumerate(paths):
        try:
            windows = reader.read(path)
        except ValueError as error:
            refused[i] = str(error)
            continue
        found += windows
        indices += len(windows) * [i]
    return found, indices, refused


class Enrolled(NamedTuple):
    """What became of files.

    Attributes:
        kept: Indices of the files of which a recording is enrolled, in order.
        refused: Why a file or a part of it is not, by its index; names the file.
        recordings: Recordings of the person in all.
        repeated: By the index of a file that counts once, the index of the file that it repeats;
            None if it is enrolled already.
    """

    kept: list
    refused: dict
    recordings: int
    repeated: dict


def enrolled(gallery, person, paths, found):
    """Enrolls what `sorted_out` has found in files.

    Args:
        gallery: `Gallery`.
        person: Name of the person.
        paths: The files.
        found: Output of `sorted_out`.

    Returns:
        `Enrolled`.
    """
    values, indices, refused = found
    if not values:
        return Enrolled([], refused, gallery.people().get(person, 0), {})
    answer = gallery.enroll(person, values)
    for i, reason in answer.refused.items():
        refused.setdefault(indices[i], f"{paths[indices[i]]}: {reason}")
    added, repeated = sorted({indices[i] for i in answer.kept}), {}
    for i, first in answer.repeated.items():
        if indices[i] not in added and indices[i] not in refused:
            repeated.setdefault(indices[i], None if first is None else indices[first])
    return Enrolled(added, refused, answer.enrolled, repeated)
