"""Reads walks of the public gait archive, and contains the functions that all recipes for these
walks use.
"""

import functools

import numpy as np

from keras_dml import layers
from keras_dml._backend import keras
from keras_dml.training import People, measure, pooled, trials
from keras_dml.training.golden import synthetic_recordings
from zoo import baselines, people
from zoo.evidence import Evidence

WINDOW = 512  # 5.12 s
STRIDE = 128  # of training windows
KNOWN = ("train", "validation")
RIGHT = " right"
# Signs of the six channels. Multiplying the channels by these signs mirrors a right foot at the
# median plane, so that the recording resembles a recording of a left foot. The second axis of a
# sensor is the lateral axis. Of all combinations, these signs and their opposites make the lagged
# correlations of right feet most similar to the lagged correlations of left feet, on the training
# people.
MIRROR = np.array([1, -1, 1, -1, 1, -1], np.float32)


def walks(split, foot="left"):
    """Reads walks of one foot, from the first to the last annotated step.

    The parts of a trial before the first step and after the last step are removed, because people
    stand still there.

    Args:
        split: A split of the data set.
        foot: `"left"` or `"right"`.
    """
    records = list(people.read(f"ipol_gait/{foot}_foot", split))
    walkers = people.collect(records, lambda record: int(record["trial"]))
    for i, record in enumerate(records):
        steps = np.concatenate([record["left_steps"], record["right_steps"]])
        walkers.signals[i] = walkers.signals[i][steps.min() : steps.max()]
    return walkers


def sensors():
    """Returns the kind of sensor that each person of the split `test` wore.

    Patients wore one kind of sensor, and most other people wore another kind.
    """
    return people.attribute(people.read("ipol_gait/left_foot", "test"), "device")


def both_feet():
    """Returns the walks of the splits `train` and `validation`, with the right feet as additional
    people.

    The two feet of a person move similarly, but not identically.
    """
    left = [walks(split, "left") for split in KNOWN]
    right = [walks(split, "right") for split in KNOWN]
    for walk in right:
        walk.subjects = [f"{subject}{RIGHT}" for subject in walk.subjects]
    return functools.reduce(People.__add__, left + right)


def mirrored(walkers):
    """Mirrors the recordings of right feet in `both_feet`, so that they resemble recordings of left
    feet.
    """
    signals = [
        signal * MIRROR if subject.endswith(RIGHT) else signal
        for signal, subject in zip(walkers.signals, walkers.subjects, strict=True)
    ]
    return People(signals, walkers.subjects, walkers.sessions)


def left_feet(walkers):
    """Returns the recordings of left feet in `both_feet`. These recordings determine how the
    channels are normalized.
    """
    return walkers.take([not subject.endswith(RIGHT) for subject in walkers.subjects])


def log_euclidean(recordings):
    """Returns a model that needs no training and computes the matrix logarithm of the channels'
    covariance.

    Args:
        recordings: Recordings that determine how the channels are normalized.
    """
    normalization = layers.ChannelNormalization()
    normalization.adapt(recordings)
    return keras.Sequential(
        [
            keras.Input((None, recordings[0].shape[1])),
            normalization,
            layers.Covariance("oas"),
            layers.LogEig(),
            layers.TangentVector(),
        ]
    )


def evidence(trained, others):
    """Measures the people of the split `test` for the card of a gait model.

    Args:
        trained: `zoo.evidence.Trained`.
        others: Dictionary of other models, `{name: (what, kind, function that returns the model)}`.
    """
    test = walks("test").windows(WINDOW)
    claims = trials.from_model(trained.whole, test)
    return Evidence(
        measure.Measurement([], claims),
        functools.partial(_baselines, others, test.signals),
        {"people recorded by the same kind of sensor": sensors()},
    )


def _baselines(others, signals):
    walkers = functools.reduce(People.__add__, [walks(split) for split in KNOWN])
    nothing = measure.pairwise_distances(log_euclidean(walkers.signals), signals)
    what = "covariance of the channels, nothing trained"
    methods = {"log-Euclidean": (what, pooled.NO_NETWORK, nothing)}
    for name, (what, kind, model) in others.items():
        methods[name] = (what, kind, measure.pairwise_distances(model(), signals))
    quantiles = baselines.quantile_distances(walkers.signals, signals)
    return {**methods, "quantiles": (baselines.QUANTILES, pooled.NO_NETWORK, quantiles)}


def known_recordings():
    """Returns the training windows of left and right feet."""
    return both_feet().windows(WINDOW, STRIDE).signals


def publish(run, model, walkers, test, measured, **published):
    """Publishes a model that recognizes people by their left foot.

    Args:
        run: `zoo.recipe.Run`.
        model: The trained model.
        walkers: Training people, output of `both_feet`.
        test: Windows of the people on whom the model was measured.
        measured: `keras_dml.training.measure.Measurement`.
        **published: Further arguments of `recipe.Run.publish`.
    """
    left = left_feet(walkers)
    stddev = np.concatenate(left.signals).std(axis=0)
    run.publish(
        model,
        synthetic_recordings(len(stddev), (WINDOW, 100, 64), stddev),
        measured,
        data={
            "train_subjects": sorted(set(left.subjects), key=int),
            "test_subjects": sorted(set(test.subjects), key=int),
        },
        recordings=walkers.windows(WINDOW, STRIDE).signals,
        **published,
    )
