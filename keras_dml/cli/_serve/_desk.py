"""A gallery as the server asks it: files in, answers out."""

import contextlib
import io
import threading
import warnings

from keras_dml import inputs, reports
from keras_dml.cli import _answers, _galleries
from keras_dml.cli._options import Reading
from keras_dml.cli._serve import _schemas, _sensors, _uploads


class Desk:
    """Answers one question after the other, whichever threads ask.

    Whole requests take turns, reading and embedding too: the notes of an answer are warnings, which
    Python catches for all threads at once. Another process may serve the same gallery.

    Args:
        gallery: `Gallery`, open.
        told: `_errors.Told`, which gives errors their words.
    """

    def __init__(self, gallery, told):
        self._gallery, self._told = gallery, told
        self._lock = threading.Lock()

    def people(self):
        """Who is enrolled."""
        with self._lock:
            found = self._gallery.people()
        return [_schemas.Person(person=person, recordings=count) for person, count in found.items()]

    def model(self):
        """Returns what recordings the model takes."""
        contract = inputs.of(self._gallery.model).contract
        fields = ("channels", "units", "rate_hz", "min_steps", "max_steps")
        values = {} if contract is None else {name: getattr(contract, name) for name in fields}
        return _schemas.Model(**values, sensor=_sensors.sensor(contract))

    def recordings(self, person):
        """Returns the times at which recordings of a person were enrolled, in their order."""
        with self._lock:
            stored = self._gallery.list_recordings(person)
        return [_schemas.Recording(created=recording.created) for recording in stored]

    def thresholds(self):
        """Those that are set, the strictest first."""
        with self._lock:
            found = self._gallery.thresholds
        fields = [name for name in _schemas.Threshold.model_fields if name != "value"]
        return [
            _schemas.Threshold(
                value=_answers.number(one.value), **{name: getattr(one, name) for name in fields}
            )
            for _, one in sorted(found.items())
        ]

    def enroll(self, person, sent):
        """Enrolls recordings of files."""
        with self._reading(sent) as (reader, files, notes):
            paths = list(files)
            found = _galleries.sorted_out(reader, paths)
            done = _galleries.enrolled(self._gallery, person, paths, found)
        return _schemas.Enrollment(
            person=person,
            kept=[files[paths[i]] for i in done.kept],
            refused=[
                _schemas.Refused(
                    file=files[paths[i]], reason=self._told.words(done.refused[i], files)
                )
                for i in sorted(done.refused)
            ],
            repeated=[
                _schemas.Repeated(
                    file=files[paths[i]], of=None if first is None else files[paths[first]]
                )
                for i, first in sorted(done.repeated.items())
            ],
            enrolled=done.recordings,
            notes=notes,
        )

    def verify(self, person, sent, limits):
        """Whether recordings are a person's."""
        with self._reading(sent) as (reader, files, notes):
            found = self._gallery.verify(person, _windows(reader, files), **limits)
        return _schemas.Decision(
            accepted=found.accepted,
            person=found.person,
            score=_answers.number(found.score),
            closeness=found.closeness,
            needed=_closeness_of(found, found.threshold),
            threshold=_answers.number(found.threshold),
            denied=found.denied,
            far=found.far,
            extrapolated=found.extrapolated,
            provisional=found.provisional,
            notes=notes,
        )

    def identify(self, sent, top, limits):
        """Who it is."""
        with self._reading(sent) as (reader, files, notes):
            found = self._gallery.identify(_windows(reader, files), top, **limits)
        return _schemas.Identification(
            person=found.person,
            tied=found.tied,
            candidates=[
                _schemas.Candidate(
                    person=one.person,
                    score=_answers.number(one.score),
                    closeness=found.closeness(one),
                )
                for one in found.candidates
            ],
            threshold=_answers.number(found.threshold),
            needed=_closeness_of(found, found.threshold),
            people=found.people,
            fpir=found.fpir,
            far=found.far,
            extrapolated=found.extrapolated,
            provisional=found.provisional,
            notes=notes,
        )

    def explain(self, person, sent):
        """Picture, as bytes of SVG, of what made the distance of the first recording sent."""
        with self._reading(sent) as (reader, files, _):
            found = self._gallery.explain(person, _windows(reader, files)[0])
            figure, drawn = reports.explanation(found), io.BytesIO()
            with reports.style.house_style():
                figure.savefig(drawn, format="svg", metadata={"Date": None})
        return drawn.getvalue()

    def remove(self, person):
        """Removes a person."""
        with self._lock:
            self._gallery.remove(person)
            return _schemas.Removed(removed=person, people=len(self._gallery.people()))

    @contextlib.contextmanager
    def _reading(self, sent):
        """The reader of sent files, the files, and a list that holds what is to be noted once the
        block has ended."""
        notes = []
        with self._lock, _uploads.kept(sent.files) as files:
            reading = Reading(
                sent.channels or None,
                sent.rate_hz,
                sent.resample or None,
                sent.time or None,
                sent.time_unit,
                sent.max_gap,
            )
            reader = _galleries.Reader(self._gallery, reading)
            with warnings.catch_warnings(record=True, action="always", category=UserWarning) as met:
                try:
                    yield reader, files, notes
                except (KeyError, ImportError, TypeError, ValueError) as error:
                    error.files = files  # whose paths are gone when it is told
                    raise
            texts = [*reader.unsaid, *reader.notes, *(str(warning.message) for warning in met)]
            notes += [self._told.words(text, files) for text in dict.fromkeys(texts)]


def _closeness_of(answer, threshold):
    """Closeness from which on an answer accepts; None without a threshold or a scale."""
    unknown = threshold is None or answer.scale is None
    return None if unknown else answer.scale.closeness(threshold)


def _windows(reader, files):
    return [window for path in files for window in reader.read(path)]
