"""Training of covariance networks by the potato ranking loss."""

from keras_dml.losses import PotatoRankingLoss
from keras_dml.models import PotatoNetwork
from keras_dml.samplers import PKSampler
from keras_dml.training import Optimization

STEPS_PER_EPOCH = 20
# No moving average of the weights: an average of orthonormal frames is none.
OPTIMIZATION = Optimization(1e-3, warm_up=20, start=0.05)


def train(run, encoder, people, z_threshold, margin, *, classes, per_class, length, vary):
    """Trains an encoder of recordings whose output is SPD matrices.

    Statistics are measured again after each epoch: the 1/t of Kim2020 alone would freeze them on
    embeddings of old weights.

    Args:
        run: `zoo.recipe.Run`; seed Keras before the encoder is built.
        encoder: Built `keras.Model` from recordings to matrices; trained in place.
        people: `keras_dml.training.People` to train on; `subjects` are the classes.
        z_threshold: Surface of the potato, see `PotatoRankingLoss`, in standard deviations.
        margin: Margin of `PotatoRankingLoss`, in standard deviations.
        classes: Largest number of distinct classes in a batch.
        per_class: Recordings of each.
        length: Steps of a crop.
        vary: Augmentation, `vary(batch, rng) -> batch`.
    """
    sampler = PKSampler(
        people.signals,
        people.subjects,
        min(classes, len(set(people.subjects))),
        per_class,
        steps=STEPS_PER_EPOCH,
        length=length,
        augment=vary,
        seed=run.seed,
    )
    ids = {name: number for number, name in enumerate(sampler.class_names)}
    labels = [ids[subject] for subject in people.subjects]
    network = PotatoNetwork(encoder, len(ids))
    network.calibrate(people.signals, labels)
    run.fit(
        network,
        sampler,
        OPTIMIZATION,
        loss=PotatoRankingLoss(z_threshold, margin=margin),
        callbacks=[network.recalibration(people.signals, labels)],
    )
