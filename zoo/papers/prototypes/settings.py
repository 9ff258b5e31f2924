"""Settings of Table 1 of Monteiro2020."""

import dataclasses

from zoo.papers.settings import SMOKE, ExperimentSettings, setting

FLOAT32 = "float32"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ExperimentSettings):
    """Settings of the trainings and of the attacks.

    Attributes:
        training_images: Number of training images, from the first. None: all images.
        images: Number of test images to attack, from the first. None: all.
        epochs: Epochs of each training.
        batch_size: Images in a batch.
        learning_rate: Largest learning rate.
        precision: Keras's dtype policy of the trainings. Attacks are on float32 networks.
        width: Number of filters of the network's first convolution.
        epsilon: Largest change of a pixel in the attacks.
        attack_steps: Steps of the attack in training.
        short, long: Steps of the two PGD attacks; `long` is also the number of steps of APGD.
        restarts: Restarts of APGD on the margin.
        targets: Targets of the targeted APGD.
        queries: Queries of the Square attack, which uses no gradients.
        images_per_run: Images attacked in one run.
        seeds: Number of trainings of each kind.
        rows: Rows of the table, names of `methods.ROWS`. None: all rows.
    """

    training_images: int | None = setting("Images to train on.", minimum=1, none="all")
    images: int | None = setting(
        "Test images to attack, the first ones; 1,000 leave an uncertainty of 2 to 3 points.",
        minimum=1,
        none="all",
    )
    epochs: int = setting("Epochs of each training.", minimum=1)
    batch_size: int = setting("Images in a batch.", minimum=1, default=128)
    learning_rate: float = setting("Largest learning rate.", minimum=0.0, default=1e-3)
    precision: str = setting(
        "Dtype policy of the training; mixed_bfloat16 takes half the time on a processor with AMX. "
        "Attacks are on float32 networks.",
        choices=(FLOAT32, "mixed_bfloat16"),
        default=FLOAT32,
    )
    width: int = setting("Filters of the first convolution, an even number.", minimum=2)
    epsilon: float = setting(  # Monteiro2020, MNIST
        "Largest change of a pixel in the attacks.", minimum=0.0, default=0.3
    )
    attack_steps: int = setting("Steps of the attack in training.", minimum=1)
    short: int = setting("Steps of the shorter PGD attack.", minimum=1)
    long: int = setting("Steps of the longer PGD attack and of APGD.", minimum=1)
    restarts: int = setting("Restarts of APGD on the margin.", minimum=1)
    targets: int = setting("Targets of the targeted APGD.", minimum=1)
    queries: int = setting("Queries of the Square attack.", minimum=1)
    images_per_run: int = setting("Images attacked in one run.", minimum=1)
    seeds: int = setting("Trainings of each kind.", minimum=1)
    rows: tuple[str, ...] | None = setting(
        "Row of the table; repeat the option for more rows.",
        option="--row",
        none="all",
        default=None,
    )


SCALES = {
    SMOKE: Settings(
        training_images=2560,
        images=128,
        epochs=2,
        attack_steps=3,
        width=4,
        short=5,
        long=10,
        restarts=2,
        targets=2,
        queries=20,
        images_per_run=128,
        seeds=1,
    ),
    "full": Settings(
        training_images=None,
        images=2000,
        epochs=6,
        attack_steps=10,
        width=16,
        short=40,
        long=100,
        restarts=5,
        targets=9,
        queries=5000,
        images_per_run=1000,
        seeds=3,
    ),
}
