"""Settings of the comparison of Kim2020."""

import dataclasses

from zoo.papers.settings import SMOKE, ExperimentSettings, setting

ALL_CLIPS = 100  # more clips than a class has


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ExperimentSettings):
    """Settings of the comparison.

    Attributes:
        seeds: Number of random seeds with which each tested network is trained.
        people: Number of people who are held out in turn. None holds out all people.
        training_matrices: Number of matrices in all batches of a training. If a matrix is used
            several times, each use counts.
        stops: Number of measurements during a training. The best length of the training is chosen
            from these measurements.
        learning_rates: Candidate learning rates of Adam.
        sizes: Sizes of the matrices in the network, from the input to the output, see
            `keras_dml.models.spdnet`.
        methods: Names of the losses to compare, from `methods.METHODS`. None compares all losses.
            RPL, the potato ranking loss, is always compared.
        batch_classes: Numbers of classes in a batch, which the ablation compares. All runs outside
            of the ablation use the last number.
        weights: Weights of the negatives (lambda in Kim2020). The ablation compares these weights.
        calibration_clips: Limits for the number of clips per class that calibrate the Riemannian
            potatoes (N_I in Kim2020). The ablation compares these limits.
    """

    seeds: int = setting("Number of random seeds for each tested network.", minimum=1)
    people: int | None = setting(
        "Number of people who are held out in turn.", minimum=1, none="all"
    )
    training_matrices: int = setting("Number of matrices in all batches of a training.", minimum=1)
    stops: int = setting("Number of measurements during a training.", minimum=1)
    learning_rates: tuple[float, ...] = setting("Candidate learning rates.", minimum=0.0)
    sizes: tuple[int, ...] = setting(  # of Kim2020 for HDM05
        "Sizes of the matrices in the network.", minimum=1, default=(93, 80, 40, 20)
    )
    methods: tuple[str, ...] | None = setting(
        "Loss to compare with RPL. Repeat the option to compare several losses.",
        option="--loss",
        none="all",
        default=None,
    )
    batch_classes: tuple[int, ...] = setting(
        "Numbers of classes per batch in the ablation.", minimum=2
    )
    weights: tuple[float, ...] = setting("Weights of the negatives in the ablation.", minimum=0.0)
    calibration_clips: tuple[int, ...] = setting(
        "Numbers of clips per class for the calibration in the ablation.", minimum=2
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
