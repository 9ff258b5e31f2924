"""Fields of requests and answers, from which the OpenAPI description is made. No answer holds an
embedding, and by default none holds a score."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

FAR = "False accept rate of the threshold."
CLOSENESS = (
    "0: as far as other people usually are; 100: as close as the same recording. null unless the "
    "server was started with --scores."
)
DENIED = (
    "Whether it is nearest to a recording marked as another person's. null unless the server was "
    "started with --scores."
)
NEEDED = "Closeness from which on it is accepted; null: not known, or as `closeness`."
PROVISIONAL = "Whether the threshold is that of the model's card, for other people."
EXTRAPOLATED = "Whether the rate is beyond what its people support: no promise."
WHICH_FAR = "False accept rate of a threshold that is set; else the smallest."


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
        description="Columns that are the model's channels, in a list or separated by commas.",
    )
    rate_hz: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description="Steps per second of files that do not say it."
    )
    resample: Annotated[bool | None, BeforeValidator(_without_empty)] = Field(
        None, description="Resample recordings to the model's rate; times may be uneven."
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
        # `resample` was False where nobody asked for it, and a gallery may remember it
        return {name: value for name, value in fields.items() if value not in (None, False)}


class Claim(Reading):
    """Recordings to decide on, and by which threshold."""

    far: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None, description=WHICH_FAR
    )


class Search(Claim):
    """Recordings of somebody to identify."""

    top: int = Field(5, ge=1, le=100, description="Number of nearest people, with --scores.")


class Volunteers(Reading):
    """Recordings of people by whom a threshold is set; they are not enrolled."""

    people: list[str] = Field(description="Name or number of the person of each recording.")
    far: float = Field(0.01, gt=0, lt=1, description="False accept rate.")
    window: Annotated[float | None, BeforeValidator(_without_empty)] = Field(
        None,
        gt=0,
        le=3600,
        description="Seconds until `listen` decides for the first time; sets its boundary.",
    )


class NewName(BaseModel):
    """Another name of a person."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(description="The new name.")


class Person(BaseModel):
    """Somebody who is enrolled."""

    person: str
    recordings: int


class Model(BaseModel):
    """Recordings that the model takes; fields are empty if the model does not say them."""

    channels: list[str] = []
    units: list[str] = []
    rate_hz: float | None = None
    min_steps: int = 1
    max_steps: int | None = None
    sensor: Literal["microphone", "accelerometer", "linear-acceleration"] | None = Field(
        description="Sensor of a phone that makes such recordings; null: none does."
    )


class Recording(BaseModel):
    """A recording that is enrolled."""

    created: str = Field(description="Time of its enrollment, in ISO 8601 and UTC.")


class Refused(BaseModel):
    """A file that was not enrolled, and why."""

    file: str
    reason: str


class Repeated(BaseModel):
    """A file that counts once."""

    file: str
    of: str | None = Field(description="The file that it repeats; null: enrolled before.")


class Enrollment(BaseModel):
    """Files that were enrolled, and files that were not."""

    person: str
    kept: list[str] = Field(description="Files of which a recording is enrolled.")
    refused: list[Refused]
    repeated: list[Repeated]
    enrolled: int = Field(description="Recordings of the person in all.")
    notes: list[str]


class Decision(BaseModel):
    """Decision on a claim."""

    accepted: bool
    person: str
    closeness: float | None = Field(description=CLOSENESS)
    needed: float | None = Field(description=NEEDED)
    threshold: float | None = Field(description="Accepted up to it; null if it is infinite.")
    denied: bool | None = Field(description=DENIED)
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Candidate(BaseModel):
    """A person, and how far the recordings are from theirs."""

    person: str
    closeness: float | None = Field(description=CLOSENESS)


class Identification(BaseModel):
    """Person who was identified; null for a stranger, or if people tie."""

    person: str | None
    tied: list[str] = Field(description="Nearest people who are equally near: no decision.")
    candidates: list[Candidate] = Field(
        description="The nearest people; empty unless the server was started with --scores."
    )
    threshold: float | None = Field(description="null: none is set, and nothing is decided.")
    needed: float | None = Field(description=NEEDED)
    people: int
    fpir: float | None = Field(description="Strangers taken for somebody, up to; null: unknown.")
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Heard(BaseModel):
    """Decision on a claim after some steps."""

    id: str | None = Field(description="For `POST /listening/{id}`; null if it is decided.")
    accepted: bool | None = Field(description="null: not decided yet, send the next piece.")
    person: str
    steps: int = Field(description="Steps of whole windows.")
    seconds: float | None
    closeness: float | None = Field(description=CLOSENESS)
    denied: bool | None = Field(description=DENIED)
    notes: list[str]


class Marked(BaseModel):
    """Recordings that were marked as not a person's."""

    person: str
    marked: int = Field(description="Recordings that were marked by this request.")
    notes: list[str]


class Rejection(BaseModel):
    """A recording that is marked as not a person's."""

    id: str
    created: str


class Left(BaseModel):
    """Marks that are left of a person."""

    person: str
    marked: int


class Renamed(BaseModel):
    """A person who has another name."""

    renamed: str
    name: str


class Limit(BaseModel):
    """The boundary at which `listen` accepts."""

    far: float
    far_ci95: tuple[float, float]
    tar: float
    tar_ci95: tuple[float, float]
    people: int
    trials: int
    window: int = Field(description="Steps until the first decision.")
    windows: int = Field(description="Windows after which a claim is rejected.")


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
    """A distance up to which a claim is accepted, and what it lets pass."""

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
    """Reason of a refusal."""

    error: str
