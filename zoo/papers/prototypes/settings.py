"""Settings of Table 1 of Monteiro2020."""

import dataclasses

from zoo.papers.settings import SMOKE, ExperimentSettings, setting

FLOAT32 = "float32"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings(ExperimentSettings):
    """Settings of the trainings and of the attacks.

    Attributes:
        training_images: Number of training images. The first images are used. None: all images.
        images: Number of test images to attack. The first images are used. None: all images.
        epochs: Number of epochs per training.
        batch_size: Number of images in a batch.
        learning_rate: Largest learning rate.
        precision: Keras dtype policy of the trainings. The attacked networks use float32.
        width: Number of filters in the first convolution of the network.
        epsilon: Largest change of a pixel in the attacks.
        attack_steps: Number of steps of the attack in training.
        short, long: Number of steps in the shorter and in the longer PGD attack. APGD also takes
            `long` steps.
        restarts: Number of restarts of APGD on the margin.
        targets: Number of target classes of the targeted APGD.
        queries: Number of queries of the Square attack, which uses no gradients.
        images_per_run: Number of images that a run attacks.
        seeds: Number of trainings of each kind. Each training has another seed.
        rows: Names of the rows of the table, from `methods.ROWS`. None: all rows.
    """

    training_images: int | None = setting("Number of training images.", minimum=1, none="all")
    images: int | None = setting(
        "Number of test images to attack, from the first image. With 1,000 images the accuracy is "
        "uncertain by 2 to 3 points.",
        minimum=1,
        none="all",
    )
    epochs: int = setting("Number of epochs per training.", minimum=1)
    batch_size: int = setting("Number of images in a batch.", minimum=1, default=128)
    learning_rate: float = setting("Largest learning rate.", minimum=0.0, default=1e-3)
    precision: str = setting(
        "Dtype policy of the training. mixed_bfloat16 takes half the time on a processor with AMX. "
        "The attacked networks always use float32.",
        choices=(FLOAT32, "mixed_bfloat16"),
        default=FLOAT32,
    )
    width: int = setting("Number of filters in the first convolution, an even number.", minimum=2)
    epsilon: float = setting(  # Monteiro2020, MNIST
        "Largest change of a pixel in the attacks.", minimum=0.0, default=0.3
    )
    attack_steps: int = setting("Number of steps of the attack in training.", minimum=1)
    short: int = setting("Number of steps of the shorter PGD attack.", minimum=1)
    long: int = setting("Number of steps of the longer PGD attack and of APGD.", minimum=1)
    restarts: int = setting("Number of restarts of APGD on the margin.", minimum=1)
    targets: int = setting("Number of target classes of the targeted APGD.", minimum=1)
    queries: int = setting("Number of queries of the Square attack.", minimum=1)
    images_per_run: int = setting("Number of images that a run attacks.", minimum=1)
    seeds: int = setting("Number of trainings of each kind.", minimum=1)
    rows: tuple[str, ...] | None = setting(
        "Row of the table. Repeat the option to compute several rows.",
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
