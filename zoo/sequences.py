"""Builds, trains and measures encoders of recordings with the four methods of Abdelwahab2019."""

from typing import Annotated

import typer

from keras_dml._backend import keras
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.models import sequence_encoder
from keras_dml.samplers import NPairSampler
from keras_dml.training import Optimization, fronts, measure

# Methods in Abdelwahab2019, section 5.3. The first part of a name is the pooling layer, and the
# second part is the loss. QP-CLS classifies the training people. For QP-CLS, `train` returns the
# encoder without the classification layer.
METHODS = {
    "qp_wl": {"aggregation": "quantile"},
    "qp_npl": {"aggregation": "quantile", "flatten": True},
    "mp_npl": {"aggregation": "max"},
    "qp_cls": {"aggregation": "quantile", "flatten": True},
}
STEPS_PER_EPOCH = 100
OPTIMIZATION = Optimization(1e-3, warm_up=100, start=0.01, average=0.99)
# The range of a cosine is too small for a softmax over dozens of people. Abdelwahab2019 uses a
# scale of 1.
NPAIR_SCALE = 16.0

Method = Annotated[
    str,
    typer.Option(help="qp_wl (the published method), qp_npl, mp_npl or qp_cls (for comparison)."),
]


def build_encoder(method, channels, front=(), **options):
    """Builds an untrained encoder of a method.

    Args:
        method: One of `METHODS`.
        channels: Number of channels of a recording.
        front: Layers that are applied before the encoder. These layers have no trainable weights.
        **options: Further arguments of `keras_dml.models.sequence_encoder`.

    Raises:
        ValueError: If the method is unknown.
    """
    if method not in METHODS:
        raise ValueError(f"Received method={method!r}. `method` must be one of {tuple(METHODS)}.")
    options = {**METHODS[method], **options}
    if not front:
        return sequence_encoder(channels, **options)
    signal = keras.Input((None, channels), name="signal")
    x = fronts.apply(front, signal)
    encoder = sequence_encoder(x.shape[-1], **options)
    return keras.Model(signal, fronts.apply(encoder.layers[1:], x), name=encoder.name)


def train(
    run,
    method,
    people,
    *,
    batches,
    adapt_to=None,
    optimization=OPTIMIZATION,
    loss=None,
    front=(),
    **options,
):
    """Trains an encoder with one of the four methods.

    Args:
        run: `zoo.recipe.Run`.
        method: One of `METHODS`.
        people: `keras_dml.training.People` to train on.
        batches: Dictionary of arguments of `NPairSampler`, such as `pairs`, `length` and `augment`.
        adapt_to: Recordings that determine how the channels are normalized. Default: the recordings
            of `people`.
        optimization: `keras_dml.training.Optimization`.
        loss: Arguments of the method's loss. Default: the defaults of the loss.
        front: Layers without trainable weights that are applied before the encoder.
        **options: Further arguments of `keras_dml.models.sequence_encoder`.
    """
    keras.utils.set_random_seed(run.seed)
    sampler = NPairSampler(
        people.signals, people.subjects, steps=STEPS_PER_EPOCH, seed=run.seed, **batches
    )
    encoder = build_encoder(method, people.signals[0].shape[1], front, **options)
    normalization = encoder.get_layer("normalization")
    if hasattr(normalization, "adapt"):
        recordings = people.signals if adapt_to is None else adapt_to
        normalization.adapt(fronts.outputs(front, recordings))
    classes = len(sampler.class_names)
    trained = _with_classifier(encoder, classes) if method == "qp_cls" else encoder
    run.fit(trained, sampler, optimization, loss=_loss(method, loss or {}))
    return encoder


def scale_of(method):
    """Returns the default factor by which the loss of a method multiplies distances or cosines.

    The result is 1 for `qp_cls`, whose loss has no factor.
    """
    return NPAIR_SCALE if method in ("qp_npl", "mp_npl") else 1.0


def evaluate(run, encoder, people):
    """Measures an encoder on people, and writes figures, trials and error curves into the folder of
    the run.

    Returns:
        `keras_dml.training.measure.Measurement`.
    """
    distances = measure.pairwise_distances(encoder, people.signals)
    measured = measure.measure_people(distances, people)
    run.save(measured, single_recordings(len(set(people.subjects))))
    return measured


def single_recordings(people):
    """Returns a caption for error curves. In the trials, a person's last block is compared with
    earlier blocks of the same session.
    """
    return (
        f"The {people} people were not used in training. Each single recording in a person's last "
        "block is compared with each person's earlier recordings."
    )


def _loss(method, given):
    if method == "qp_wl":
        return WassersteinLoss(**given)
    if method == "qp_cls":
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return NPairLoss("cosine", **{"scale": scale_of(method), **given})


def _with_classifier(encoder, classes):
    return keras.Sequential([encoder, keras.layers.Dense(classes, name="people")])
