"""Classes for requests and responses, from which FastAPI makes the OpenAPI description.

Responses contain no embeddings and, by default, no scores.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from keras_dml.gallery.observations import MOST_DAYS

FAR = "False accept rate of the threshold."
CLOSENESS = (
    "Score from 0 to 100. The score is 100 for equal recordings, and 0 if the distance is at least "
    "the mean distance to other people. null unless the server runs with --scores."
)
DENIED = (
    "Whether the nearest stored recording comes from an imposter of this person. null unless the "
    "server runs with --scores."
)
NEEDED = "Smallest `closeness` that is accepted. null if unknown, or if --scores is not set."
PROVISIONAL = "Whether the threshold comes from the model card and was measured on other people."
EXTRAPOLATED = "Whether the rate is only an estimate, because there were too few people."
WHICH_FAR = "False accept rate of a calibrated threshold. Default: the smallest calibrated rate."


def _without_empty(value):
    return None if value == "" else value


def _split(value):
    value = _without_empty(value)
    return value.split(",") if isinstance(value, str) else value


class Reading(BaseModel):
    """Options for reading files. An option that is not given has the value of the first enrollment,
    or of the file."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    channels: Annotated[list[str] | None, BeforeValidator(_split)] = Field(
        None,
        description="Columns with the model's channels, as a list or separated by commas.",
    )
    rate_hz: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description="Number of time steps per second, for files without this rate."
    )
    resample: Annotated[bool | None, BeforeValidator(_without_empty)] = Field(
        None,
        description="Whether to resample recordings, even with uneven times, to the model's rate.",
    )
    time: Annotated[str | None, BeforeValidator(_without_empty)] = Field(
        None, description="Column that contains the times."
    )
    time_unit: Annotated[Literal["s", "ms", "us", "ns"] | None, BeforeValidator(_without_empty)] = (
        Field(None, description="Unit of the times.")
    )
    max_gap: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description="Longest gap to interpolate, in seconds."
    )

    def options(self) -> dict[str, Any]:
        """Returns the options for `keras_dml.gallery.files.Reader`."""
        fields = {name: getattr(self, name) for name in Reading.model_fields}
        # older galleries store `resample=False` if no recording was resampled
        return {name: value for name, value in fields.items() if value not in (None, False)}


class Claim(Reading):
    """Recordings for a claim, and the false accept rate that selects a threshold."""

    far: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description=WHICH_FAR
    )


class Search(Claim):
    """Recordings of an unknown person, and the false accept rate that selects a threshold."""

    top: int = Field(
        5,
        ge=1,
        le=100,
        description="Number of nearest people in the response of a server with --scores.",
    )


class Volunteers(Reading):
    """Recordings of people, enrolled or not, from which a threshold is computed."""

    people: list[str] = Field(description="Name or number of the person of each recording.")
    far: float = Field(0.01, gt=0, lt=1, description="False accept rate.")
    window: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None,
        gt=0,
        le=3600,
        description="Seconds until the first decision of `listen`. Sets the threshold of `listen` "
        "instead of the threshold of `verify`.",
    )


class NewName(BaseModel):
    """New name of a person."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: str = Field(description="The new name.")


class Person(BaseModel):
    """An enrolled person, and the number of their recordings."""

    person: str
    recordings: int


class Model(BaseModel):
    """Recordings that the model accepts. A field is empty if the model does not state it."""

    channels: list[str] = []
    units: list[str] = []
    rate_hz: float | None = None
    min_steps: int = 1
    max_steps: int | None = None
    sensor: (
        Literal["microphone", "accelerometer", "accelerometer-gyroscope", "linear-acceleration"]
        | None
    ) = Field(description="Phone sensor that can make these recordings. null if phones have none.")


class Recording(BaseModel):
    """Enrolled recording."""

    created: str = Field(description="Time of the enrollment, in ISO 8601 and UTC.")
    day: str = Field(description="Label of the day on which the recording was made.")
    id: str | None = Field(
        description="Id to undo the proposal that added the recording. null for other recordings."
    )


class Completeness(BaseModel):
    """State of a person's enrollment."""

    person: str
    recordings: int
    days: list[str] = Field(description="Labels of the days on which recordings were made.")
    devices: list[str]
    needed: int | None = Field(
        description="Number of recordings above which the error rates in the model card show "
        "little gain, or number of recordings per person in the calibration, whichever is "
        "smaller. null if neither is known."
    )
    advice: str | None = Field(
        description="What to record next, and the source of `needed`. null if nothing is missing."
    )


class Keeping(BaseModel):
    """Number of days for which recordings are kept. null if recordings are not kept."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    proposals: float | None = Field(
        None,
        gt=0,
        le=MOST_DAYS,
        description="Days for accepted recordings that are proposed as templates.",
    )
    strangers: float | None = Field(
        None, gt=0, le=MOST_DAYS, description="Days for recordings of strangers."
    )


class Proposal(BaseModel):
    """Accepted recording that is proposed as a template of a person."""

    id: str
    person: str
    created: str
    expires: str = Field(description="Time at which the recording is destroyed.")


class Addition(BaseModel):
    """Result of adding kept recordings to the templates of a person."""

    person: str
    added: int
    repeated: int = Field(
        description="Number of recordings that were enrolled already and are not kept any more."
    )
    refused: list[str] = Field(description="Reason for each recording that was refused.")
    enrolled: int = Field(description="Total number of the person's recordings.")


class Undone(BaseModel):
    """Person from whose templates a recording was removed, and the number of the remaining ones."""

    person: str
    enrolled: int


class Stranger(BaseModel):
    """Recordings that probably come from one unknown person."""

    id: str
    recordings: int
    days: int
    first: str
    last: str
    expires: str = Field(description="Time at which the first recording is destroyed.")


class Destroyed(BaseModel):
    """Number of destroyed recordings."""

    destroyed: int


class Refused(BaseModel):
    """File that was not enrolled, with the reason."""

    file: str
    reason: str


class Repeated(BaseModel):
    """File with the same recording as another file. The repeated recording counts once."""

    file: str
    of: str | None = Field(
        description="The other file with this recording. null if the recording is enrolled."
    )


class Enrollment(BaseModel):
    """Files that were enrolled, and files that were not enrolled."""

    person: str
    stored: list[str] = Field(
        serialization_alias="kept", description="Files from which a recording was enrolled."
    )
    refused: list[Refused]
    repeated: list[Repeated]
    enrolled: int = Field(description="Total number of the person's recordings.")
    notes: list[str]


class Decision(BaseModel):
    """Decision on a claim."""

    accepted: bool
    person: str
    closeness: float | None = Field(description=CLOSENESS)
    needed: float | None = Field(description=NEEDED)
    threshold: float | None = Field(
        description="Largest accepted distance. null if it is infinite."
    )
    denied: bool | None = Field(description=DENIED)
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Candidate(BaseModel):
    """An enrolled person, and the score of the recordings against this person."""

    person: str
    closeness: float | None = Field(description=CLOSENESS)


class Identification(BaseModel):
    """Result of an identification. `person` is null for a stranger or for equally near people."""

    person: str | None
    tied: list[str] = Field(
        description="Nearest people with about equal distances. If there are any, `person` is null."
    )
    candidates: list[Candidate] = Field(
        description="The nearest people. Empty unless the server runs with --scores."
    )
    threshold: float | None = Field(
        description="Largest accepted distance. null if there is no threshold."
    )
    needed: float | None = Field(description=NEEDED)
    people: int
    fpir: float | None = Field(
        description="Upper bound of the fraction of strangers who are identified, or null."
    )
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Heard(BaseModel):
    """State of a claim after some pieces of the recording."""

    id: str | None = Field(description="Id for `POST /listening/{id}`. null after the decision.")
    accepted: bool | None = Field(
        description="Whether the claim is accepted. null if the next piece is needed to decide."
    )
    person: str
    steps: int = Field(description="Number of time steps in complete windows.")
    seconds: float | None
    closeness: float | None = Field(description=CLOSENESS)
    denied: bool | None = Field(description=DENIED)
    notes: list[str]


class Marked(BaseModel):
    """Number of imposter recordings that were stored for a person."""

    person: str
    marked: int = Field(description="Number of recordings that this request stored.")
    notes: list[str]


class Rejection(BaseModel):
    """Imposter recording that is stored for a person."""

    id: str
    created: str


class Left(BaseModel):
    """Number of imposter recordings that are still stored for a person."""

    person: str
    marked: int


class Renamed(BaseModel):
    """Old and new name of a person."""

    renamed: str
    name: str


class Limit(BaseModel):
    """Decision threshold of `listen`."""

    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int
    window: int = Field(description="Number of time steps until the first decision.")
    windows: int = Field(description="Number of windows after which `listen` rejects a claim.")


class Calibration(BaseModel):
    """The threshold that was set. `threshold` is for `verify`, and `boundary` is for `listen`."""

    threshold: "Threshold | None"
    boundary: Limit | None
    refused: list[Refused] = Field(description="Files that the model does not accept.")
    notes: list[str]


class Health(BaseModel):
    """State of the server."""

    status: Literal["ok"] = "ok"


class Removed(BaseModel):
    """Person who was removed, and the number of remaining people."""

    removed: str
    people: int


class Threshold(BaseModel):
    """Largest distance at which a claim is accepted, with its error rates."""

    far: float
    value: float | None
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int
    method: str
    extrapolated: bool = Field(description=EXTRAPOLATED)


class Problem(BaseModel):
    """Reason why a request was refused."""

    error: str
