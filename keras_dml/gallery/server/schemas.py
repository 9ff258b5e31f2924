"""Models of requests and answers, from which FastAPI makes the OpenAPI description.

No answer holds an embedding. By default no answer holds a score.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

FAR = "False accept rate of the threshold."
CLOSENESS = (
    "0: as far as other people usually are. 100: as close as a copy. null unless the "
    "server runs with --scores."
)
DENIED = (
    "Whether the nearest recording is one that is marked as not of this person. null unless the "
    "server runs with --scores."
)
NEEDED = "Lowest closeness that is accepted. null if it is unknown, or as for `closeness`."
PROVISIONAL = "Whether the threshold is from the model's card, which was measured on other people."
EXTRAPOLATED = "Whether there were too few people for the rate, which is then an estimate."
WHICH_FAR = "False accept rate of one of the set thresholds. Default: the smallest rate."


def _without_empty(value):
    return None if value == "" else value


def _split(value):
    value = _without_empty(value)
    return value.split(",") if isinstance(value, str) else value


class Reading(BaseModel):
    """Options for reading files. Without an option, the first enrollment or the file decides."""

    model_config = ConfigDict(extra="forbid")

    channels: Annotated[list[str] | None, BeforeValidator(_split)] = Field(
        None,
        description="Columns that are the channels of the model, in a list or separated by commas.",
    )
    rate_hz: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description="Steps per second of files that do not state it."
    )
    resample: Annotated[bool | None, BeforeValidator(_without_empty)] = Field(
        None, description="Resample recordings to the rate of the model; times may be uneven."
    )
    time: Annotated[str | None, BeforeValidator(_without_empty)] = Field(
        None, description="Column that holds the times."
    )
    time_unit: Annotated[Literal["s", "ms", "us", "ns"] | None, BeforeValidator(_without_empty)] = (
        Field(None, description="Unit of the times.")
    )
    max_gap: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description="Seconds of the longest gap that is interpolated."
    )

    def options(self):
        """Options of `keras_dml.gallery.files.Reader`."""
        fields = {name: getattr(self, name) for name in Reading.model_fields}
        # older galleries remember `resample` False for recordings without resampling
        return {name: value for name, value in fields.items() if value not in (None, False)}


class Claim(Reading):
    """Recordings of a claim, and the choice of a threshold."""

    far: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description=WHICH_FAR
    )


class Search(Claim):
    """Recordings of a person to identify."""

    top: int = Field(
        5, ge=1, le=100, description="Number of nearest people in the answer, with --scores."
    )


class Volunteers(Reading):
    """Recordings of people who are not enrolled, from which a threshold is computed."""

    people: list[str] = Field(description="Name or number of the person of each recording.")
    far: float = Field(0.01, gt=0, lt=1, description="False accept rate.")
    window: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None,
        gt=0,
        le=3600,
        description="Seconds until the first decision of `listen`, whose boundary is then set.",
    )


class NewName(BaseModel):
    """New name of a person."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The new name.")


class Person(BaseModel):
    """Person who is enrolled."""

    person: str
    recordings: int


class Model(BaseModel):
    """Recordings that the model takes. Fields are empty if the model does not state them."""

    channels: list[str] = []
    units: list[str] = []
    rate_hz: float | None = None
    min_steps: int = 1
    max_steps: int | None = None
    sensor: Literal["microphone", "accelerometer", "linear-acceleration"] | None = Field(
        description="Sensor of a phone that makes such recordings, or null."
    )


class Recording(BaseModel):
    """Enrolled recording."""

    created: str = Field(description="Time of its enrollment, in ISO 8601 and UTC.")


class Refused(BaseModel):
    """File that was not enrolled, with the reason."""

    file: str
    reason: str


class Repeated(BaseModel):
    """File that repeats another recording and counts once."""

    file: str
    of: str | None = Field(
        description="The repeated file. null: the recording was enrolled before."
    )


class Enrollment(BaseModel):
    """Files that were enrolled, and files that were not enrolled."""

    person: str
    stored: list[str] = Field(
        serialization_alias="kept", description="Files of which a recording is enrolled."
    )
    refused: list[Refused]
    repeated: list[Repeated]
    enrolled: int = Field(description="Number of all recordings of the person.")
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
    """Enrolled person, with the closeness of the recordings."""

    person: str
    closeness: float | None = Field(description=CLOSENESS)


class Identification(BaseModel):
    """Result of an identification. `person` is null for a stranger, or if people tie."""

    person: str | None
    tied: list[str] = Field(
        description="Nearest people at equal distances. Then there is no decision."
    )
    candidates: list[Candidate] = Field(
        description="The nearest people. Empty unless the server runs with --scores."
    )
    threshold: float | None = Field(
        description="Largest accepted distance. null: no threshold is set, so there is no decision."
    )
    needed: float | None = Field(description=NEEDED)
    people: int
    fpir: float | None = Field(
        description="Upper bound of the share of strangers who are identified as a person, or null."
    )
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Heard(BaseModel):
    """State of a claim after some steps."""

    id: str | None = Field(description="For `POST /listening/{id}`. null after the decision.")
    accepted: bool | None = Field(description="null: not decided yet. Send the next piece.")
    person: str
    steps: int = Field(description="Number of steps in whole windows.")
    seconds: float | None
    closeness: float | None = Field(description=CLOSENESS)
    denied: bool | None = Field(description=DENIED)
    notes: list[str]


class Marked(BaseModel):
    """Number of recordings that were marked as not of a person."""

    person: str
    marked: int = Field(description="Number of recordings that this request marked.")
    notes: list[str]


class Rejection(BaseModel):
    """Recording that is marked as not of a person."""

    id: str
    created: str


class Left(BaseModel):
    """Number of remaining marks of a person."""

    person: str
    marked: int


class Renamed(BaseModel):
    """Old and new name of a person."""

    renamed: str
    name: str


class Limit(BaseModel):
    """Boundary at which `listen` accepts."""

    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int
    window: int = Field(description="Steps until the first decision.")
    windows: int = Field(description="Number of windows after which a claim is rejected.")


class Calibration(BaseModel):
    """Threshold or boundary that was set."""

    threshold: "Threshold | None"
    boundary: Limit | None
    refused: list[Refused] = Field(description="Files that the model does not take.")
    notes: list[str]


class Health(BaseModel):
    """State of the server."""

    status: Literal["ok"] = "ok"


class Removed(BaseModel):
    """Person who was removed, and the number of people left."""

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
