"""Reads walks of the public gait archive, and contains functions that the models of these walks
share.
"""

import functools

import numpy as np

from keras_dml import layers
from keras_dml._backend import keras
from keras_dml.training import People, measure, pooled, trials
from keras_dml.training.golden import synthetic_recordings
from zoo import people
from zoo.evidence import Evidence

WINDOW = 512  # 5.12 s
STRIDE = 128  # of training windows
KNOWN = ("train", "validation")
RIGHT = " right"
# Reflection at the median plane, which makes a right foot a left one: the second axis of a sensor
# is the lateral one. On the training people these signs of the six channels, and their opposites,
# bring the lagged correlations of right feet nearest to those of left ones.
MIRROR = np.array([1, -1, 1, -1, 1, -1], np.float32)


def walks(split, foot="left"):
    """Reads walks of one foot, from the first to the last annotated step.

    People stand still at both ends of a trial.

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
    """Returns the kind of sensor of each person of `test`.

    Patients have one kind of sensor, most other people another kind.
    """
    records = people.read("ipol_gait/left_foot", "test")
    return {record["subject"].decode(): record["device"].decode() for record in records}


def both_feet():
    """Returns walks of `train` and `validation`: left feet, and right feet as additional people.

    The right foot of a person moves similarly to the left foot, but not identically.
    """
    left = [walks(split, "left") for split in KNOWN]
    right = [walks(split, "right") for split in KNOWN]
    for walk in right:
        walk.subjects = [f"{subject}{RIGHT}" for subject in walk.subjects]
    return functools.reduce(People.__add__, left + right)


def mirrored(walkers):
    """Mirrors the right feet of `both_feet` to left feet."""
    signals = [
        signal * MIRROR if subject.endswith(RIGHT) else signal
        for signal, subject in zip(walkers.signals, walkers.subjects, strict=True)
    ]
    return People(signals, walkers.subjects, walkers.sessions)


def left_feet(walkers):
    """Returns the left feet of `both_feet`, whose statistics normalize the channels."""
    return walkers.take([not subject.endswith(RIGHT) for subject in walkers.subjects])


def log_euclidean(recordings):
    """Returns a model without training that computes the matrix logarithm of the covariance of the
    channels.

    Args:
        recordings: Recordings whose statistics normalize the channels.
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
        others: Other models, `{name: (what, kind, function that returns the model)}`.
    """
    test = walks("test").windows(WINDOW)
    claims = trials.from_model(trained.whole, test)
    baselines = functools.partial(_baselines, others, test.signals)
    return Evidence(
        measure.Measurement([], claims), baselines, {"people of one kind of sensor": sensors()}
    )


def _baselines(others, signals):
    walkers = functools.reduce(People.__add__, [walks(split) for split in KNOWN])
    nothing = measure.pairwise_distances(log_euclidean(walkers.signals), signals)
    what = "covariance of the channels, nothing trained"
    methods = {"log-Euclidean": (what, pooled.NO_NETWORK, nothing)}
    for name, (what, kind, model) in others.items():
        methods[name] = (what, kind, measure.pairwise_distances(model(), signals))
    return methods


def known_recordings():
    """Returns training windows of both feet."""
    return both_feet().windows(WINDOW, STRIDE).signals


def publish(run, model, walkers, test, measured, **published):
    """Publishes a model of left feet.

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
