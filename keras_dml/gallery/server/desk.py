"""A gallery as the server asks it: files in, answers out."""

import io
import math
import warnings

from keras_dml import reports
from keras_dml.gallery import files as files_of_galleries
from keras_dml.gallery.server import schemas, sensors, uploads
from keras_dml.gallery.server.listenings import Listenings
from keras_dml.gallery.server.readers import Readers
from keras_dml.gallery.server.threads import Turns

MOST_TO_CALIBRATE = 1000  # files


class Desk:
    """Answers requests: files are read side by side, and the gallery is asked in turns.

    Another process may serve the same gallery.

    Args:
        gallery: `Gallery`, open.
        words: `errors.Words`, which gives errors their words.
        scores: Whether answers hold closeness and reasons of denials.
        metrics: `Metrics`.
    """

    def __init__(self, gallery, words, scores, metrics):
        self._gallery, self._words, self._scores = gallery, words, scores
        self._metrics = metrics
        self._turns, self._readers, self._listenings = Turns(), Readers(), Listenings()

    async def check(self):
        """Raises what the gallery raises if it cannot be used."""
        await self._turns.run(self._gallery.people)

    async def people(self):
        """Who is enrolled."""
        counts = await self._turns.run(self._gallery.people)
        return [schemas.Person(person=name, recordings=count) for name, count in counts.items()]

    def model(self):
        """Recordings that the model takes."""
        from keras_dml import inputs  # loads a backend

        contract = inputs.from_model(self._gallery.model).contract
        fields = ("channels", "units", "rate_hz", "min_steps", "max_steps")
        values = {} if contract is None else {name: getattr(contract, name) for name in fields}
        return schemas.Model(**values, sensor=sensors.sensor(contract))

    async def recordings(self, person):
        """Times at which recordings of a person were enrolled, in their order."""
        stored = await self._turns.run(self._gallery.list_recordings, person)
        return [schemas.Recording(created=recording.created) for recording in stored]

    async def thresholds(self):
        """Those that are set, the strictest first."""
        thresholds = await self._turns.run(lambda: self._gallery.thresholds)
        return [_threshold(one) for _, one in sorted(thresholds.items())]

    async def enroll(self, client, person, sent):
        """Enrolls recordings of files."""

        def enroll(reader, files):
            paths = list(files)
            values = files_of_galleries.sorted_out(reader, paths)
            return paths, files, files_of_galleries.enrolled(self._gallery, person, paths, values)

        (paths, files, done), notes = await self._decide(client, sent, enroll)
        return schemas.Enrollment(
            person=person,
            kept=[files[paths[i]] for i in done.kept],
            refused=self._refused(done.refused, paths, files),
            repeated=[
                schemas.Repeated(
                    file=files[paths[i]], of=None if first is None else files[paths[first]]
                )
                for i, first in sorted(done.repeated.items())
            ],
            enrolled=done.recordings,
            notes=notes,
        )

    async def verify(self, client, person, sent):
        """Whether recordings are a person's."""

        def verify(reader, files):
            windows = _windows(reader, files)
            return self._gallery.verify(person, windows, far=sent.fields.far, client=client.name)

        decision, notes = await self._decide(client, sent, verify)
        self._metrics.count_decision("verify", "accepted" if decision.accepted else "rejected")
        return schemas.Decision(
            accepted=decision.accepted,
            person=decision.person,
            closeness=self._closeness(decision.scale, decision.score),
            needed=self._closeness(decision.scale, decision.threshold),
            threshold=_number(decision.threshold),
            denied=decision.denied if self._scores else None,
            far=decision.far,
            extrapolated=decision.extrapolated,
            provisional=decision.provisional,
            notes=notes,
        )

    async def identify(self, client, sent):
        """Who it is."""
        fields = sent.fields

        def identify(reader, files):
            windows = _windows(reader, files)
            return self._gallery.identify(windows, fields.top, far=fields.far, client=client.name)

        result, notes = await self._decide(client, sent, identify)
        answer = "somebody" if result.person else "nobody"
        self._metrics.count_decision("identify", answer)
        candidates = result.candidates if self._scores else ()
        return schemas.Identification(
            person=result.person,
            tied=result.tied,
            candidates=[
                schemas.Candidate(
                    person=one.person, closeness=self._closeness(result.scale, one.score)
                )
                for one in candidates
            ],
            threshold=_number(result.threshold),
            needed=self._closeness(result.scale, result.threshold),
            people=result.people,
            fpir=result.fpir,
            far=result.far,
            extrapolated=result.extrapolated,
            provisional=result.provisional,
            notes=notes,
        )

    async def listen(self, client, person, sent):
        """Begins to listen to a claim, with the first piece of a recording."""

        def listen(reader, files):
            (path,) = files
            values = reader.values(path)
            listening = self._gallery.listen(person, far=sent.fields.far, client=client.name)
            heard = listening.add(values)
            is_open = heard.accepted is None
            return heard, self._listenings.add(client.name, listening) if is_open else None

        return await self._heard(client, sent, listen)

    async def listen_on(self, client, number, sent):
        """Listens to the next piece of a recording."""

        def listen(reader, files):
            (path,) = files
            heard = self._listenings.get(client.name, number).add(reader.values(path))
            if heard.accepted is None:
                return heard, number
            self._listenings.end(number)
            return heard, None

        return await self._heard(client, sent, listen)

    async def _heard(self, client, sent, listen):
        (heard, number), notes = await self._decide(client, sent, listen, most=1)
        self._metrics.count_decision("listen", heard.answer)
        return schemas.Heard(
            id=number,
            accepted=heard.accepted,
            person=heard.person,
            steps=heard.steps,
            seconds=heard.seconds,
            closeness=self._closeness(heard.scale, heard.score),
            denied=heard.denied if self._scores else None,
            notes=notes,
        )

    async def explain(self, client, person, sent):
        """Picture, as bytes of SVG, of what made the distance of the first recording sent."""

        def explain(reader, files):
            explanation = self._gallery.explain(person, _windows(reader, files)[0])
            figure, drawn = reports.explanation(explanation), io.BytesIO()
            with reports.style.house_style():
                figure.savefig(drawn, format="svg", metadata={"Date": None})
            return drawn.getvalue()

        picture, _ = await self._decide(client, sent, explain)
        return picture

    async def reject(self, client, person, sent):
        """Marks recordings as not a person's."""

        def reject(reader, files):
            recordings = _windows(reader, files)
            self._gallery.reject(person, recordings)
            return len(recordings)

        count, notes = await self._decide(client, sent, reject)
        return schemas.Marked(person=person, marked=count, notes=notes)

    async def rejections(self, person):
        """Recordings that are marked as not a person's."""
        stored = await self._turns.run(self._gallery.list_rejections, person)
        return [schemas.Rejection(id=one.id, created=str(one.created)) for one in stored]

    async def unreject(self, person, recording):
        """Removes the mark of a recording."""

        def unreject():
            self._gallery.unreject(person, recording)
            return len(self._gallery.list_rejections(person))

        return schemas.Left(person=person, marked=await self._turns.run(unreject))

    async def calibrate(self, client, sent):
        """Sets a threshold, or the boundary of `listen`, by recordings of people."""
        fields = sent.fields
        if len(fields.people) != len(sent.files):
            raise ValueError(
                f"`people` must name the person of each of the {len(sent.files)} recordings. "
                f"Received {len(fields.people)} names."
            )

        def calibrate(reader, files):
            paths = list(files)
            values, indices, refused = files_of_galleries.sorted_out(reader, paths)
            if not values:
                raise ValueError(next(iter(refused.values())))
            people = [fields.people[i] for i in indices]
            if fields.window is None:
                limit = self._gallery.calibrate(values, people, fields.far)
            else:
                window = reader.steps(fields.window)
                limit = self._gallery.calibrate_listening(values, people, fields.far, window=window)
            return paths, files, refused, limit

        answer, notes = await self._decide(client, sent, calibrate, most=MOST_TO_CALIBRATE)
        paths, files, refused, limit = answer
        is_threshold = fields.window is None
        names = schemas.Limit.model_fields
        return schemas.Calibration(
            threshold=_threshold(limit) if is_threshold else None,
            boundary=None if is_threshold else {name: getattr(limit, name) for name in names},
            refused=self._refused(refused, paths, files),
            notes=notes,
        )

    async def rename(self, person, name):
        """Gives a person another name."""
        await self._turns.run(self._gallery.rename, person, name)
        return schemas.Renamed(renamed=person, name=name)

    async def remove(self, person):
        """Removes a person."""

        def remove():
            self._gallery.remove(person)
            return len(self._gallery.people())

        return schemas.Removed(removed=person, people=await self._turns.run(remove))

    async def _decide(self, client, sent, function, most=uploads.MOST_FILES):
        """Reads the files of a request, then calls a function of a `Reader` and the names of the
        files by path, in turn.

        Returns:
            What the function returns, and notes.
        """
        options = sent.fields.options()
        reader = await self._turns.run(files_of_galleries.Reader, self._gallery, options)
        files = {}

        def read_ahead(read):
            with uploads.paths(sent.files, most) as paths:
                files.update(paths)
                reader.read_ahead(files, read)

        def decide():
            with warnings.catch_warnings(record=True, action="always", category=UserWarning) as met:
                result = function(reader, files)
            return result, [str(warning.message) for warning in met]

        try:
            await self._readers.run(client.name, read_ahead)
            result, met = await self._turns.run(decide)
        except (KeyError, ImportError, TypeError, ValueError) as error:
            error.files = files  # whose paths are gone when it is told
            raise
        texts = dict.fromkeys([*reader.unsaid, *reader.notes, *met])
        return result, [self._words.words(text, files) for text in texts]

    def _refused(self, reasons, paths, files):
        return [
            schemas.Refused(file=files[paths[i]], reason=self._words.words(reasons[i], files))
            for i in sorted(reasons)
        ]

    def _closeness(self, scale, distance):
        """Closeness of a distance, rounded; None if it is not told or not known."""
        is_known = self._scores and scale is not None and distance is not None
        return float(round(scale.closeness(distance))) if is_known else None


def _threshold(threshold):
    fields = {name: getattr(threshold, name) for name in schemas.Threshold.model_fields}
    return schemas.Threshold(**fields | {"value": _number(threshold.value)})


def _number(value):
    """A number as JSON has it: None for infinity or for no number."""
    return value if value is not None and math.isfinite(value) else None


def _windows(reader, files):
    return [window for path in files for window in reader.read(path)]
