"""Reads files with recordings for the model of a gallery."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from keras_dml import _messages, recordings
from keras_dml._messages import Message
from keras_dml._typing import Path

if TYPE_CHECKING:
    from keras_dml.gallery.gallery import Gallery

NO_UNIT = "as recorded"  # unit of a model whose training recordings did not state their units
UNITS_NOT_STATED = {"[-1, 1]", "1", NO_UNIT}  # "[-1, 1]" is the unit of audio files


class Reader:
    """File reader for the model of a gallery.

    Args:
        gallery: The gallery.
        options: Options of `keras_dml.recordings.read_pieces` and `resample`, by name. `options`
            take precedence over the options that the gallery stores.
    """

    def __init__(self, gallery: Gallery, options: Mapping[str, Any]):
        self._gallery, self._inputs = gallery, gallery.inputs
        self._contract = self._inputs.contract
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

    def remember(self) -> dict[str, Any]:
        """Stores the options of this reader in the gallery, unless the gallery already stores
        options.

        Returns:
            The stored options without the units. Empty if the gallery already stored options.
        """
        if self._gallery.reading:
            return {}
        self._gallery.remember_reading({"units": self._file_units, **self._explicit})
        return self._explicit

    def read_ahead(self, paths: Iterable[Path], read: Callable[..., Any]) -> None:
        """Reads files in advance, for example in another thread.

        This method does not access the gallery. If the model does not accept a file, a later call
        of the method `read` raises the error.

        Args:
            paths: Paths of the files.
            read: Function that reads a file, with the arguments and the result of
                `keras_dml.recordings.read_pieces`.
        """
        self._read_pieces = read
        for path in paths:
            try:
                self._ahead[path] = self.longest(path)
            except ValueError as error:
                self._ahead[path] = error

    def beginning(self, path: Path) -> np.ndarray:
        """Reads a file up to the first long gap. Returns an array of shape `(time, channels)`.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file and the model differ in channels, units or rate.
        """
        pieces = self._pieces(path)
        self._files = {note: {"the file"} for note in pieces[0].notes}
        return pieces[0].values

    def longest(self, path: Path) -> np.ndarray:
        """Splits a file at long gaps and returns the longest piece, of shape `(time, channels)`.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the file and the model differ in channels, units or rate.
        """
        pieces = self._pieces(path)
        notes = list(pieces[0].notes)
        if len(pieces) > 1:
            notes.append("The longest piece between the gaps was used.")
        for note in notes:
            self._files.setdefault(note, set()).add(str(path))
        return max((piece.values for piece in pieces), key=len)

    def _pieces(self, path):
        """Reads the pieces of a file. Tries up to three sets of options until one set fits.

        First, the method combines the options of the gallery and of the caller. If reading fails,
        the method leaves out the rate of the gallery. If reading without the gallery's rate also
        fails, the method uses only the options of the caller.
        """
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
        if self._contract is not None:
            if is_resampled:
                options["resample_hz"] = self._contract.rate_hz
            options["events"] = self._contract.events
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
        """Converts a piece of a recording to the units of the model.

        If the file does not state its units, the units of the first enrollment are assumed.
        """
        if {*piece.units} == {None} and self._units and len(self._units) == len(piece.units):
            if tuple(self._units) != tuple(self._contract.units):
                note = (
                    "The file does not state its units. The units of the first enrollment, "
                    f"{', '.join(dict.fromkeys(self._units))}, were assumed."
                )
                notes = (*piece.notes, note)
                piece = dataclasses.replace(piece, units=tuple(self._units), notes=notes)
        return recordings.convert(piece, self._contract.units)

    def values(self, path: Path) -> np.ndarray:
        """Returns the longest piece of a file. If `read_ahead` has already read the piece, the file
        is not read again."""
        values = self._ahead[path] if path in self._ahead else self.longest(path)
        if isinstance(values, ValueError):
            raise values
        return values

    def read(self, path: Path) -> list[np.ndarray]:
        """Reads a file as one recording, or as several windows if the recording is too long for the
        model.

        Raises:
            FileNotFoundError: If the file does not exist.
            ValueError: If the model does not accept a recording, or if a recording is too poor to
                be compared. The message names the file.
        """
        windows = self._windows(self.values(path))
        for window in windows:
            self._check(path, window)
        for reason in self._gallery.unfit(windows).values():
            raise ValueError(f"{path}: {reason}.")
        return windows

    @property
    def rate_hz(self) -> float | None:
        """Number of time steps per second, from the model or from the first file that states its
        rate. None if neither the model nor a file states the rate."""
        expected = self._contract and self._contract.rate_hz
        return self._file_rate_hz if expected is None else expected

    def steps(self, seconds: float) -> int:
        """Converts a duration in seconds to a number of time steps.

        Raises:
            ValueError: If the rate is unknown, or if `seconds` is shorter than a step.
        """
        if self.rate_hz is None:
            raise ValueError(
                Message(
                    "The number of steps per second is unknown, because neither the model nor the "
                    "files state it. Set {rate_hz}."
                )
            )
        steps = round(seconds * self.rate_hz)
        if steps < 1:
            raise ValueError(
                f"{seconds:g} seconds are shorter than a time step, which lasts "
                f"{1 / self.rate_hz:g} s at {self.rate_hz:g} Hz. Give more seconds."
            )
        return steps

    def duration(self, steps: int) -> str:
        """Returns a duration as text. The unit is seconds, or time steps if the rate is unknown."""
        return f"{steps:,} steps" if self.rate_hz is None else f"{steps / self.rate_hz:.3g} s"

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Sentences about rates and units that no file states, and that were therefore not
        checked."""
        return tuple(self._unsaid)

    @property
    def notes(self) -> dict[str, int]:
        """Assumptions made about files, `{sentence: number of files}`."""
        return {note: len(paths) for note, paths in self._files.items()}

    def _check_rate(self, piece):
        expected = self._contract.rate_hz
        if expected is None:
            return
        if piece.rate_hz is None:
            note = Message(
                "The files do not state their rate, and the model takes {expected:g} Hz. Set "
                "{rate_hz} to check the rate.",
                expected=expected,
            )
            self._unsaid[note] = True
        elif not recordings.is_same_rate(piece.rate_hz, expected):
            raise ValueError(
                Message(
                    "{path} has {rate:.6g} Hz, but the model takes {expected:g} Hz. To resample "
                    "the file, set {resample_hz}.",
                    path=piece.path,
                    rate=piece.rate_hz,
                    expected=expected,
                )
            )

    def _check_units(self, piece):
        if len(piece.units) != len(self._contract.units):
            return  # the model reports the wrong number of channels
        for name, unit, expected in zip(
            piece.channels, piece.units, self._contract.units, strict=True
        ):
            if NO_UNIT != expected and unit is not None and unit != expected:
                raise ValueError(
                    f"{piece.path} states that the unit of channel {name!r} is {unit}, but the "
                    f"model takes {expected}. Convert the values. If both texts mean the same "
                    f"unit, write {expected} in the file."
                )
        units = dict.fromkeys(self._contract.units)
        if None in piece.units and not {*units} <= UNITS_NOT_STATED:
            self._unsaid[
                f"The files do not state their units, and the model takes {', '.join(units)}."
            ] = True

    def _windows(self, values):
        longest = self._contract and self._contract.max_steps
        if longest is None or len(values) <= longest:
            return [values]
        cut = [values[start : start + longest] for start in range(0, len(values), longest)]
        return cut if len(cut[-1]) >= self._contract.min_steps else cut[:-1]

    def _check(self, path, window):
        try:
            self._inputs.read([window], warns=False)  # `embed` emits one warning for all
        except ValueError as error:
            message = _messages.text_of(error).replace(f"{self._inputs.name} 0", str(path), 1)
            raise ValueError(message) from None


def sorted_out(
    reader: Reader, paths: Sequence[Path]
) -> tuple[list[np.ndarray], list[int], dict[int, str]]:
    """Reads files and separates files that the model accepts from files that are refused.

    Args:
        reader: Reader of files.
        paths: Paths of the files.

    Returns:
        `(recordings, indices, refused)`: the accepted recordings as arrays, the index of the file
        for each recording, and `{index: reason}` for each refused file.
    """
    values, indices, refused = [], [], {}
    for i, path in enumerate(paths):
        try:
            windows = reader.read(path)
        except ValueError as error:
            refused[i] = _messages.text_of(error)
            continue
        values += windows
        indices += len(windows) * [i]
    return values, indices, refused


class Enrolled(NamedTuple):
    """Result of enrolling files.

    Attributes:
        kept: Indices of the files from which at least one recording was enrolled, in ascending
            order.
        refused: `{index: reason}` for each file with a refused recording. The reason names the
            file.
        recordings: Number of recordings of the person in the gallery.
        repeated: Dict from the index of each repeated file to the index of an earlier file with the
            same recording. The value is None if the recording was already enrolled.
    """

    kept: list[int]
    refused: dict[int, str]
    recordings: int
    repeated: dict[int, int | None]


def enrolled(
    gallery: Gallery,
    person: str,
    paths: Sequence[Path],
    contents: tuple[Any, ...],
    days: Sequence[str] | None = None,
) -> Enrolled:
    """Enrolls recordings that `sorted_out` has read.

    Args:
        gallery: The gallery.
        person: Name of the person.
        paths: Paths of the files.
        contents: Tuple that `sorted_out` returned.
        days: Day of each file. Default: the day of the enrollment.
    """
    values, indices, refused = contents
    if not values:
        return Enrolled([], refused, gallery.people().get(person, 0), {})
    days = None if days is None else [days[i] for i in indices]
    enrollment = gallery.enroll(person, values, days=days)
    for i, reason in enrollment.refused.items():
        refused.setdefault(indices[i], _messages.join(": ", [paths[indices[i]], reason]))
    added, repeated = sorted({indices[i] for i in enrollment.kept}), {}
    for i, first in enrollment.repeated.items():
        if indices[i] not in added and indices[i] not in refused:
            repeated.setdefault(indices[i], None if first is None else indices[first])
    return Enrolled(added, refused, enrollment.enrolled, repeated)
