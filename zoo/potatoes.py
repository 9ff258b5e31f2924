"""Trains networks on covariance matrices with the potato ranking loss."""

from keras_dml.losses import PotatoRankingLoss
from keras_dml.models import PotatoNetwork
from keras_dml.samplers import PKSampler
from keras_dml.training import Optimization

STEPS_PER_EPOCH = 20
# The weights are not averaged over training steps, because an average of orthonormal matrices is
# not orthonormal.
OPTIMIZATION = Optimization(1e-3, warm_up=20, start=0.05)


def train(run, encoder, people, z_threshold, margin, *, classes, per_class, length, vary):
    """Trains an encoder that maps recordings to SPD matrices.

    The statistics of the loss are computed again after each epoch. Kim2020 updates the statistics
    with weights of 1/t. Such updates would keep the statistics close to the embeddings at the start
    of the training.

    Args:
        run: `zoo.recipe.Run`. Seed Keras before the encoder is built.
        encoder: Built `keras.Model` that maps recordings to matrices. The encoder is trained in
            place.
        people: `keras_dml.training.People` to train on. The `subjects` are the classes.
        z_threshold: Threshold of the Riemannian potato, see `PotatoRankingLoss`, in standard
            deviations.
        margin: Margin of `PotatoRankingLoss`, in standard deviations.
        classes: Largest number of distinct classes in a batch.
        per_class: Number of recordings per class in a batch.
        length: Number of time steps of a crop.
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
