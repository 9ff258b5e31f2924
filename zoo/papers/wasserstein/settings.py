"""Settings of the comparison of Abdelwahab2019, and the kinds of recordings it is run on."""

import dataclasses

from zoo.papers.settings import SMOKE, ExperimentSettings, setting

COSINE, CONSTANT = "cosine", "constant"
DOMAINS = {
    "eyes": "eye movements",
    "gait": "gait",
    "eeg": "EEG",
    "phone": "walking with a phone",
}
PAPER_DOMAINS = ("eyes", "gait", "eeg")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ExperimentSettings):
    """Settings of the comparison.

    `learning_rates`, `slope_l2` and `loss_scales` are grids: each method uses the values that are
    best on the validation people.

    Attributes:
        people: Number of people. None: all people.
        seeds: Number of random seeds of every tested network.
        steps: Training steps of every network.
        pairs: Pairs of recordings in a batch, at most the number of training people.
        length: Time steps of a training crop. None uses whole recordings.
        size: Size of `keras_dml.models.sequence_encoder`, `"edge"` or `"paper"`.
        knots: Knots of the quantile layer.
        learning_rates: Candidates of Adam's learning rate.
        schedule: `"cosine"`, a warm-up and a cosine decay, or `"constant"`.
        slope_l2: Candidates of the L2 penalty on the slopes of the PReLUs.
        loss_scales: Candidates of the factor on distances or cosines in the loss; None for the
            candidates of each method.
        methods: Methods to compare, names of `methods.METHODS`; None for all that the recordings
            allow. QP-WL is always run, because the others are compared with it.
        width_divisor: Divisor of the widths of the network of Jaeger2019.
        divergence_people: People whose recordings are compared by divergences.
        divergence_recordings: Recordings of each of these people.
        limit_to_paper: Whether to use at most as many people as the paper.
    """

    people: int | None = setting("Number of people.", minimum=16, none="all", default=None)
    seeds: int = setting("Random seeds of every tested network.", minimum=1)
    steps: int = setting("Training steps of every network.", minimum=1)
    pairs: int = setting("Pairs of recordings in a batch.", minimum=2)
    length: int | None = setting("Time steps of a training crop.", minimum=1, none="whole")
    size: str = setting("Size of the encoder.", choices=("edge", "paper"))
    knots: int = setting("Knots of the quantile layer.", minimum=2, default=16)
    learning_rates: tuple[float, ...] = setting("Candidates of the learning rate.", minimum=0.0)
    schedule: str = setting("Schedule of the learning rate.", choices=(COSINE, CONSTANT))
    slope_l2: tuple[float, ...] = setting(
        "Candidates of the L2 penalty on the slopes of the PReLUs.", minimum=0.0
    )
    loss_scales: tuple[float, ...] | None = setting(
        "Candidates of the factor on distances or cosines in the loss.",
        minimum=0.0,
        none="each-method",
    )
    methods: tuple[str, ...] | None = setting(
        "Method to compare with QP-WL, by its loss; repeat the option for more methods.",
        option="--method",
        none="all",
        default=None,
    )
    width_divisor: int = setting("Divisor of the widths of the network of Jaeger2019.", minimum=1)
    divergence_people: int = setting("People compared by divergences.", minimum=2, default=15)
    divergence_recordings: int = setting("Recordings of each of them.", minimum=6, default=8)
    limit_to_paper: bool = False


SCALES = {
    SMOKE: Settings(
        people=16,
        seeds=1,
        steps=8,
        pairs=6,
        length=128,
        size="edge",
        width_divisor=16,
        learning_rates=(3e-3,),
        schedule=COSINE,
        slope_l2=(0.0,),
        loss_scales=(1.0,),
        divergence_people=6,
        divergence_recordings=6,
    ),
    "full": Settings(
        seeds=5,
        steps=1500,
        pairs=32,
        length=512,
        size="edge",
        width_divisor=4,
        learning_rates=(1e-3, 3e-3),
        schedule=COSINE,
        slope_l2=(0.0, 1e-3),
        loss_scales=None,
    ),
    "paper": Settings(  # Abdelwahab2019, section 5.3
        seeds=1,
        steps=50_000,
        pairs=16,
        length=None,
        size="paper",
        width_divisor=1,
        learning_rates=(1e-4,),
        schedule=CONSTANT,
        slope_l2=(0.0, 1e-4, 1e-3, 1e-2),
        loss_scales=(1.0,),
        limit_to_paper=True,
    ),
}
