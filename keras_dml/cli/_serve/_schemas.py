"""What the interface answers, as its OpenAPI description has it. No answer holds an embedding."""

from typing import Literal

from pydantic import BaseModel, Field

FAR = "False accept rate of the threshold; null for a distance of your own."
CLOSENESS = "0: as far as other people usually are; 100: as close as the same recording."
NEEDED = "Closeness from which on it is accepted; null: not known."
PROVISIONAL = "Whether the threshold is that of the model's card, for other people."
EXTRAPOLATED = "Whether the rate is beyond what its people support: no promise."


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
    """What became of the files."""

    person: str
    kept: list[str] = Field(description="Files of which a recording is enrolled.")
    refused: list[Refused]
    repeated: list[Repeated]
    enrolled: int = Field(description="Recordings of the person in all.")
    notes: list[str]


class Decision(BaseModel):
    """Whether a claim is accepted."""

    accepted: bool
    person: str
    score: float | None = Field(description="A distance, smaller is closer; null if denied.")
    closeness: float | None = Field(description=CLOSENESS)
    needed: float | None = Field(description=NEEDED)
    threshold: float | None = Field(description="Accepted up to it; null if it is infinite.")
    denied: bool = Field(description="Whether it is nearest to one marked as another person's.")
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Candidate(BaseModel):
    """A person, and how far the recordings are from theirs."""

    person: str
    score: float | None
    closeness: float | None = Field(description=CLOSENESS)


class Identification(BaseModel):
    """Who it is; `person` is null for a stranger, or if people tie."""

    person: str | None
    tied: list[str] = Field(description="Nearest people who are equally near: no decision.")
    candidates: list[Candidate]
    threshold: float | None = Field(description="null: none is set, and nothing is decided.")
    needed: float | None = Field(description=NEEDED)
    people: int
    fpir: float | None = Field(description="Strangers taken for somebody, up to; null: unknown.")
    far: float | None = Field(description=FAR)
    extrapolated: bool = Field(description=EXTRAPOLATED)
    provisional: bool = Field(description=PROVISIONAL)
    notes: list[str]


class Removed(BaseModel):
    """Who was removed, and how many people are left."""

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
    """Why there is no other answer."""

    error: str
