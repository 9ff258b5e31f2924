"""Defines the settings of the comparison in Abdelwahab2019, and the domains, which are kinds of
recordings.
"""

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

    `learning_rates`, `slope_l2` and `loss_scales` define a grid. Each method uses the values that
    are best on the validation people.

    Attributes:
        people: Number of people. None: all people.
        seeds: Number of random seeds with which each tested network is trained.
        steps: Number of training steps of each network.
        pairs: Number of pairs of recordings in a batch. A batch contains at most as many pairs as
            there are training people.
        length: Number of time steps in the crops on which networks are trained. None uses whole
            recordings.
        size: Size of `keras_dml.models.sequence_encoder`, `"edge"` or `"paper"`.
        knots: Number of knots of the quantile layer.
        learning_rates: Candidate learning rates of Adam.
        schedule: Schedule of the learning rate. `"cosine"` is a warm-up and a cosine decay, and
            `"constant"` is a constant rate.
        slope_l2: Candidate L2 penalties on the slopes of the PReLUs.
        loss_scales: Candidate factors by which the loss multiplies distances or cosines. None: each
            method has its own candidates.
        methods: Names of the methods to compare, from `methods.METHODS`. None: all methods that can
            be run on the recordings. QP-WL is always run, because the other methods are compared
            with QP-WL.
        width_divisor: Number by which the widths of the network in Jaeger2019 are divided.
        divergence_people: Number of people whose recordings are compared by divergences.
        divergence_recordings: Number of recordings per person that are compared by divergences.
        limit_to_paper: Whether to use at most as many people as the paper uses.
    """

    people: int | None = setting("Number of people.", minimum=16, none="all", default=None)
    seeds: int = setting("Number of random seeds for each tested network.", minimum=1)
    steps: int = setting("Number of training steps of each network.", minimum=1)
    pairs: int = setting("Number of pairs of recordings in a batch.", minimum=2)
    length: int | None = setting(
        "Number of time steps in a training crop.", minimum=1, none="whole"
    )
    size: str = setting("Size of the encoder.", choices=("edge", "paper"))
    knots: int = setting("Number of knots of the quantile layer.", minimum=2, default=16)
    learning_rates: tuple[float, ...] = setting("Candidate learning rates.", minimum=0.0)
    schedule: str = setting("Schedule of the learning rate.", choices=(COSINE, CONSTANT))
    slope_l2: tuple[float, ...] = setting(
        "Candidate L2 penalties on the slopes of the PReLUs.", minimum=0.0
    )
    loss_scales: tuple[float, ...] | None = setting(
        "Candidate factors by which the loss multiplies distances or cosines.",
        minimum=0.0,
        none="each-method",
    )
    methods: tuple[str, ...] | None = setting(
        "Method to compare with QP-WL. Repeat the option to compare several methods.",
        option="--method",
        none="all",
        default=None,
    )
    width_divisor: int = setting(
        "Number by which the widths of the network in Jaeger2019 are divided.", minimum=1
    )
    divergence_people: int = setting(
        "Number of people who are compared by divergences.", minimum=2, default=15
    )
    divergence_recordings: int = setting(
        "Number of recordings per person that are compared by divergences.", minimum=6, default=8
    )
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
