"""Handlers for the routes. Handlers read the files of requests and call the gallery."""

import asyncio
import contextlib
import io
import math
import warnings
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from fastapi import Response
from starlette.exceptions import HTTPException

from keras_dml import _messages, reports
from keras_dml.gallery import files as files_of_galleries
from keras_dml.gallery.server import errors, logs, requests, schemas, sensors, uploads
from keras_dml.gallery.server.claims import Claims
from keras_dml.gallery.server.metrics import CONTENT_TYPE, Metrics
from keras_dml.gallery.server.readers import Readers
from keras_dml.gallery.server.threads import Turns

if TYPE_CHECKING:  # loads a backend
    from keras_dml.gallery import Gallery

MOST_TO_CALIBRATE = 1000  # largest number of files in a request to calibrate
DROP_SECONDS = 60.0  # time between two checks for expired recordings
READY_SECONDS = 2  # longest time until the gallery responds to `GET /readyz`


class Handlers:
    """Handlers for the routes that serve one gallery.

    The server reads the files of several requests at the same time. A single thread calls the
    gallery for one request after another. Other processes may serve the same gallery.

    Args:
        gallery: The open gallery.
        translator: Translator of error messages for clients.
        scores: Whether responses contain scores and state whether an imposter was nearest.
        metrics: Counts of decisions.
    """

    def __init__(
        self, gallery: "Gallery", translator: errors.Translator, scores: bool, metrics: Metrics
    ):
        self._gallery, self._translator, self._scores = gallery, translator, scores
        self._metrics = metrics
        self._turns, self._readers, self._claims = Turns(), Readers(), Claims()

    @contextlib.asynccontextmanager
    async def open(self, _) -> AsyncIterator[None]:
        """Starts a process that reads files and a task that destroys expired recordings. Ends both
        when the server ends (ASGI lifespan)."""
        self._readers.start()
        end = asyncio.Event()
        task = asyncio.create_task(self._drop_expired(end))
        yield
        end.set()  # the gallery must not be closed while a thread uses it
        await asyncio.wait([task], timeout=READY_SECONDS)
        self._readers.end()

    async def _drop_expired(self, end):
        """Destroys expired recordings every `DROP_SECONDS` until the event `end` is set."""
        while not end.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(end.wait(), DROP_SECONDS)
                return
            try:
                await self._turns.run(self._gallery.drop_expired)
            except errors.KINDS as error:  # the next turn tries again
                logs.error(f"Expired recordings are not destroyed yet: {error}")

    async def healthz(self) -> schemas.Health:
        """Reports that the process runs."""
        return schemas.Health()

    async def readyz(self) -> schemas.Health:
        """Checks that the gallery responds within `READY_SECONDS`."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._turns.run(self._gallery.people)
        except TimeoutError:
            raise HTTPException(*errors.BUSY) from None
        return schemas.Health()

    async def prometheus(self) -> Response:
        """Returns counts of requests and decisions in the text format of Prometheus."""
        return Response(self._metrics.text(), media_type=CONTENT_TYPE)

    async def people(self) -> list[schemas.Person]:
        """Lists the enrolled people."""
        counts = await self._turns.run(self._gallery.people)
        return [schemas.Person(person=name, recordings=count) for name, count in counts.items()]

    async def model(self) -> schemas.Model:
        """Describes the recordings that the model accepts."""
        contract = self._gallery.inputs.contract
        fields = ("channels", "units", "rate_hz", "min_steps", "max_steps")
        values = {} if contract is None else {name: getattr(contract, name) for name in fields}
        return schemas.Model(**values, sensor=sensors.sensor(contract))

    async def recordings(self, person: str) -> list[schemas.Recording]:
        """Lists the enrollment times of a person's recordings, in the order of enrollment."""
        stored = await self._turns.run(self._gallery.list_recordings, person)
        return [
            schemas.Recording(
                created=recording.created,
                day=recording.source.day,
                id=recording.id if recording.source.proposed else None,
            )
            for recording in stored
        ]

    async def completeness(self, person: str) -> schemas.Completeness:
        """Describes how complete the enrollment of a person is."""
        state = await self._turns.run(self._gallery.completeness, person)
        return schemas.Completeness(
            person=state.person,
            recordings=state.recordings,
            days=list(state.days),
            devices=list(state.devices),
            needed=state.needed,
            advice=state.advice or None,
        )

    async def keeping(self) -> schemas.Keeping:
        """Returns for how many days recordings are kept."""
        return await self._turns.run(self._keeping)

    async def keep(self, days: schemas.Keeping) -> schemas.Keeping:
        """Sets for how many days recordings are kept. Fields that are not given do not change."""

        def keep():
            for name in sorted(days.model_fields_set):
                getattr(self._gallery, name).keep(getattr(days, name))
            return self._keeping()

        return await self._turns.run(keep)

    def _keeping(self):
        gallery = self._gallery
        return schemas.Keeping(proposals=gallery.proposals.days, strangers=gallery.strangers.days)

    async def proposals(self) -> list[schemas.Proposal]:
        """Lists the recordings that are proposed as templates."""
        proposals = await self._turns.run(self._gallery.proposals.list)
        return [schemas.Proposal(**each._asdict()) for each in proposals]

    async def accept_proposal(self, recording: str) -> schemas.Addition:
        """Adds a proposed recording to the templates of its person."""
        return self._addition(await self._turns.run(self._gallery.proposals.accept, recording))

    async def undo_proposal(self, recording: str) -> schemas.Undone:
        """Removes a recording that a proposal added."""

        def undo():
            person = self._gallery.proposals.undo(recording)
            return schemas.Undone(person=person, enrolled=self._gallery.people().get(person, 0))

        return await self._turns.run(undo)

    async def destroy_proposal(self, recording: str) -> schemas.Destroyed:
        """Destroys a proposed recording."""
        await self._turns.run(self._gallery.proposals.destroy, recording)
        return schemas.Destroyed(destroyed=1)

    async def strangers(self) -> list[schemas.Stranger]:
        """Lists the recordings of unknown people in groups."""
        groups = await self._turns.run(self._gallery.strangers.list)
        return [
            schemas.Stranger(**vars(group) | {"recordings": len(group.recordings)})
            for group in groups
        ]

    async def name_stranger(self, stranger: str, new: schemas.NewName) -> schemas.Addition:
        """Enrolls the recordings of an unknown person under a name."""
        name = self._gallery.strangers.name
        return self._addition(await self._turns.run(name, stranger, new.name))

    async def destroy_stranger(self, stranger: str) -> schemas.Destroyed:
        """Destroys the recordings of an unknown person."""
        count = await self._turns.run(self._gallery.strangers.destroy, stranger)
        return schemas.Destroyed(destroyed=count)

    def _addition(self, enrollment):
        reasons = enrollment.refused.values()
        return schemas.Addition(
            person=enrollment.person,
            added=len(enrollment.kept),
            repeated=len(enrollment.repeated),
            refused=[self._translator.translate(reason, {}) for reason in reasons],
            enrolled=enrollment.enrolled,
        )

    async def thresholds(self) -> list[schemas.Threshold]:
        """Lists the calibrated thresholds, sorted by false accept rate."""
        thresholds = await self._turns.run(lambda: self._gallery.thresholds)
        return [_threshold(threshold) for _, threshold in sorted(thresholds.items())]

    async def enroll(
        self, client: requests.FromClient, person: str, sent: requests.Recordings
    ) -> schemas.Enrollment:
        """Enrolls the recordings in the files of a request."""

        def enroll(reader, files):
            paths = list(files)
            values = files_of_galleries.sorted_out(reader, paths)
            return paths, files, files_of_galleries.enrolled(self._gallery, person, paths, values)

        (paths, files, done), notes = await self._decide(client, sent, enroll)
        return schemas.Enrollment(
            person=person,
            stored=[files[paths[i]] for i in done.kept],
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

    async def verify(
        self, client: requests.FromClient, person: str, sent: requests.Claim
    ) -> schemas.Decision:
        """Decides whether recordings belong to a person."""

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

    async def identify(
        self, client: requests.FromClient, sent: requests.Search
    ) -> schemas.Identification:
        """Identifies the person who made the recordings."""
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
                    person=candidate.person,
                    closeness=self._closeness(result.scale, candidate.score),
                )
                for candidate in candidates
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

    async def listen(
        self, client: requests.FromClient, person: str, sent: requests.Claim
    ) -> schemas.Heard:
        """Begins a claim with the first piece of a recording."""

        def listen(reader, files):
            (path,) = files
            values = reader.values(path)
            listening = self._gallery.listen(person, far=sent.fields.far, client=client.name)
            state = listening.add(values)
            is_open = state.accepted is None
            return state, self._claims.add(client.name, listening) if is_open else None

        return await self._listen(client, sent, listen)

    async def listen_on(
        self, client: requests.FromClient, number: str, sent: requests.Recordings
    ) -> schemas.Heard:
        """Continues a claim with the next piece of a recording."""

        def listen(reader, files):
            (path,) = files
            state = self._claims.get(client.name, number).add(reader.values(path))
            if state.accepted is None:
                return state, number
            self._claims.end(number)
            return state, None

        return await self._listen(client, sent, listen)

    async def _listen(self, client, sent, listen):
        (state, number), notes = await self._decide(client, sent, listen, most=1)
        self._metrics.count_decision("listen", state.answer)
        return schemas.Heard(
            id=number,
            accepted=state.accepted,
            person=state.person,
            steps=state.steps,
            seconds=state.seconds,
            closeness=self._closeness(state.scale, state.score),
            denied=state.denied if self._scores else None,
            notes=notes,
        )

    async def explain(
        self, client: requests.FromClient, person: str, sent: requests.Recordings
    ) -> Response:
        """Draws an SVG image that shows how much each part of the first recording adds to its
        distance.
        """
        if not self._scores:
            raise HTTPException(
                403, "This server sends only decisions. Start it with --scores to get pictures."
            )

        def explain(reader, files):
            explanation = self._gallery.explain(person, _windows(reader, files)[0])
            figure, picture = reports.explanation(explanation), io.BytesIO()
            with reports.style.house_style():
                figure.savefig(picture, format="svg", metadata={"Date": None})
            return picture.getvalue()

        picture, _ = await self._decide(client, sent, explain)
        return Response(picture, media_type="image/svg+xml")

    async def reject(
        self, client: requests.FromClient, person: str, sent: requests.Recordings
    ) -> schemas.Marked:
        """Stores imposter recordings for a person."""

        def reject(reader, files):
            recordings = _windows(reader, files)
            self._gallery.reject(person, recordings)
            return len(recordings)

        count, notes = await self._decide(client, sent, reject)
        return schemas.Marked(person=person, marked=count, notes=notes)

    async def rejections(self, person: str) -> list[schemas.Rejection]:
        """Lists the imposter recordings that are stored for a person."""
        stored = await self._turns.run(self._gallery.list_rejections, person)
        return [schemas.Rejection(id=mark.id, created=str(mark.created)) for mark in stored]

    async def unreject(self, person: str, recording: str) -> schemas.Left:
        """Removes an imposter recording that is stored for a person."""

        def unreject():
            self._gallery.unreject(person, recording)
            return len(self._gallery.list_rejections(person))

        return schemas.Left(person=person, marked=await self._turns.run(unreject))

    async def calibrate(
        self, client: requests.FromClient, sent: requests.Volunteers
    ) -> schemas.Calibration:
        """Computes and sets a threshold of `verify`, or of `listen` if `window` is given."""
        fields = sent.fields
        if len(fields.people) != len(sent.files):
            raise ValueError(
                f"`people` has {len(fields.people)} names, but it must name the person of each of "
                f"the {len(sent.files)} recordings."
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

    async def rename(self, person: str, new: schemas.NewName) -> schemas.Renamed:
        """Gives a person another name."""
        await self._turns.run(self._gallery.rename, person, new.name)
        return schemas.Renamed(renamed=person, name=new.name)

    async def remove(self, person: str) -> schemas.Removed:
        """Removes a person."""

        def remove():
            self._gallery.remove(person)
            return len(self._gallery.people())

        return schemas.Removed(removed=person, people=await self._turns.run(remove))

    async def _decide(
        self,
        client: requests.Client,
        sent: requests.Sent,
        function: Callable[[Any, dict[str, Any]], Any],
        most: int = uploads.MOST_FILES,
    ) -> tuple[Any, list[str]]:
        """Reads the files of a request, and calls a function in the thread of the gallery.

        Args:
            client: Client that sent the request.
            sent: Recordings and fields of the request.
            function: Function that is called with a `keras_dml.gallery.files.Reader` and with the
                names of the files, `{path: name}`. The reader has already read the files.
            most: Largest accepted number of files.

        Returns:
            The result of the function, and notes about the files and the decision.
        """
        options = sent.fields.options()
        reader = await self._turns.run(files_of_galleries.Reader, self._gallery, options)
        files = {}

        def read_ahead(read):
            with uploads.paths(sent.files, most) as paths:
                files.update(paths)
                reader.read_ahead(files, read)

        def decide():
            with warnings.catch_warnings(
                record=True, action="always", category=UserWarning
            ) as caught:
                result = function(reader, files)
            return result, [_messages.text_of(warning.message) for warning in caught]

        try:
            await self._readers.run(client.name, read_ahead)
            result, texts = await self._turns.run(decide)
        except (KeyError, ImportError, TypeError, ValueError) as error:
            error.files = files  # the response needs the names after the paths are removed
            raise
        notes = dict.fromkeys([*reader.unsaid, *reader.notes, *texts])
        return result, [self._translator.translate(note, files) for note in notes]

    def _refused(self, reasons, paths, files):
        return [
            schemas.Refused(
                file=files[paths[i]], reason=self._translator.translate(reasons[i], files)
            )
            for i in sorted(reasons)
        ]

    def _closeness(self, scale, distance):
        """Converts a distance to a rounded score from 0 to 100, or None if scores are secret or
        unknown."""
        is_known = self._scores and scale is not None and distance is not None
        return float(round(scale.closeness(distance))) if is_known else None


def _threshold(threshold):
    fields = {name: getattr(threshold, name) for name in schemas.Threshold.model_fields}
    return schemas.Threshold(**fields | {"value": _number(threshold.value)})


def _number(value):
    """Returns a number. Returns None for infinity, because JSON cannot represent infinity."""
    return value if value is not None and math.isfinite(value) else None


def _windows(reader, files):
    return [window for path in files for window in reader.read(path)]
