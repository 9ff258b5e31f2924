"""Settings of the comparison of Kim2020."""

import dataclasses

from zoo.papers.settings import SMOKE, ExperimentSettings, setting

ALL_CLIPS = 100  # more clips than a class has


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ExperimentSettings):
    """Settings of the comparison.

    Attributes:
        seeds: Number of random seeds of every tested network.
        people: Number of people who are held out in turn. None holds out all people.
        training_matrices: Number of matrices that a network is trained on, repeats counted.
        stops: Number of measurements during a training, from which the best length is chosen.
        learning_rates: Candidates of Adam's learning rate.
        sizes: Sizes of the matrices in the network, the input first (`keras_dml.models.spdnet`).
        methods: Losses to compare, names of `methods.METHODS`; None for all. RPL, the potato
            ranking loss, is always run.
        batch_classes: Numbers of classes in a batch in the ablation. All other runs use the last
            number.
        weights: Weights of the negatives (lambda in Kim2020) in the ablation.
        calibration_clips: Largest numbers of clips of a class that calibrate the potatoes (N_I in
            Kim2020) in the ablation.
    """

    seeds: int = setting("Random seeds of every tested network.", minimum=1)
    people: int | None = setting("People held out in turn.", minimum=1, none="all")
    training_matrices: int = setting(
        "Matrices that a network is trained on, repeats counted.", minimum=1
    )
    stops: int = setting("Measurements during a training.", minimum=1)
    learning_rates: tuple[float, ...] = setting("Candidates of the learning rate.", minimum=0.0)
    sizes: tuple[int, ...] = setting(  # of Kim2020 for HDM05
        "Sizes of the matrices in the network.", minimum=1, default=(93, 80, 40, 20)
    )
    methods: tuple[str, ...] | None = setting(
        "Loss to compare with RPL; repeat the option for more losses.",
        option="--loss",
        none="all",
        default=None,
    )
    batch_classes: tuple[int, ...] = setting("Classes in a batch, in the ablation.", minimum=2)
    weights: tuple[float, ...] = setting("Weights of the negatives, in the ablation.", minimum=0.0)
    calibration_clips: tuple[int, ...] = setting(
        "Clips of a class that calibrate the potatoes, in the ablation.", minimum=2
    )


SCALES = {
    SMOKE: Settings(
        seeds=1,
        people=2,
        training_matrices=330,
        stops=2,
        learning_rates=(3e-3,),
        batch_classes=(4, 11),
        weights=(0.1, 1.0),
        calibration_clips=(2, ALL_CLIPS),
    ),
    "full": Settings(
        seeds=5,
        people=None,
        training_matrices=5500,
        stops=4,
        learning_rates=(1e-3, 3e-3, 1e-2),
        batch_classes=(2, 4, 8, 11),
        weights=(0.1, 0.3, 0.6, 1.0),
        calibration_clips=(2, 4, 8, ALL_CLIPS),
    ),
}
