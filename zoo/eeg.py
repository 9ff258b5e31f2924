"""Reads the EEG data set and runs a nested cross-validation over its people."""

import functools

import numpy as np

from keras_dml import evaluation
from keras_dml.training import folds, measure
from keras_dml.training.golden import synthetic_recordings
from zoo import nested, people, sequences

RATE_HZ = 256
CROP = 224
GAIN = 0.05  # change of a channel's gain between two trials of a person
FOLDS, FOLDS_SEED = 4, 7


def trials():
    """Reads all trials. The session of a recording is the number of the trial, so early trials are
    enrolled.
    """
    records = people.read("uci_eeg/large", "train")
    return people.collect(records, lambda record: int(record["trial"]))


def groups(everybody):
    """Returns the folds of the cross-validation. Each fold is a list of people's names."""
    return folds(everybody.subjects, FOLDS, FOLDS_SEED)


def cross_validate(run, everybody, grid, train):
    """Measures how well an encoder recognizes the people of each fold. The encoder was not trained
    on these people.

    The settings for a fold are chosen on another fold, by the highest AUC over the pairs of
    recordings. For this choice, encoders are trained without the two folds.

    Args:
        run: `zoo.recipe.Run`. Each training uses a subfolder of the run.
        everybody: `keras_dml.training.People` with all people.
        grid: Candidate settings.
        train: `train(run, people, settings) -> encoder`.

    Returns:
        A `keras_dml.training.measure.Measurement` of all folds, the encoders of the folds, and the
        settings for a model that is trained on all people.
    """
    divided = groups(everybody)

    def validate(settings, pair):
        numbers = [divided.index(fold) + 1 for fold in pair]
        rest = everybody.without(pair[0] + pair[1])
        encoder = train(run.part(nested.name(settings, numbers)), rest, settings)
        return [auc_of_pairs(of_encoder(encoder), everybody.select(fold)) for fold in pair]

    best, of_all = nested.choose(grid, divided, validate)
    encoders = []
    for number, (fold, settings) in enumerate(zip(divided, best, strict=True), start=1):
        print(f"fold {number}: trained without {', '.join(fold)}, {settings}")
        encoders.append(train(run.part(f"fold_{number}"), everybody.without(fold), settings))
    result = over_folds(everybody, [of_encoder(encoder) for encoder in encoders])
    run.save(result, sequences.single_recordings(len(set(everybody.subjects))))
    return result, encoders, of_all


def over_folds(everybody, distances):
    """Measures all folds. The first half of a person's trials is enrolled and compared with the
    last half.

    Args:
        everybody: `keras_dml.training.People` with all people.
        distances: One function per fold that computes the distances between all recordings of a
            list. Each function divides its distances by a typical distance between the people
            outside of the fold, so that all folds can share one threshold.
    """
    return measure.combine_folds(
        [
            measured(between, everybody.without(fold), everybody.select(fold))
            for fold, between in zip(groups(everybody), distances, strict=True)
        ]
    )


def measured(between, known, tested):
    """Measures the tested people by the distances between their recordings. The distances are
    divided by the `measure.distance_unit` of the people on whom the method was trained.
    """
    distances = between(tested.signals) / measure.distance_unit(between, known)
    return measure.measure_people(distances, tested.halves())


def of_encoder(encoder):
    """Returns a function that computes the distances between recordings with an encoder."""
    return functools.partial(measure.pairwise_distances, encoder)


def auc_of_pairs(between, people):
    """Computes the area under the ROC curve (AUC) of all pairs of recordings.

    The AUC of trials with enrolled people is 1 in most folds for all settings. Therefore the AUC of
    trials with enrolled people is not suitable for choosing settings.
    """
    subjects = np.array(people.subjects)
    first, second = np.triu_indices(len(subjects), k=1)
    distances = between(people.signals)[first, second]
    return evaluation.verification(distances, subjects[first] == subjects[second]).auc


def publish(run, everybody, train, measured, encoders, settings):
    """Publishes an encoder that is trained on all people, together with the figures and the
    encoders of the folds.
    """
    final = run.part("final")
    encoder = train(final, everybody, settings)
    channels = everybody.signals[0].shape[1]
    run.minutes = final.minutes
    run.publish(
        encoder,
        synthetic_recordings(channels, (RATE_HZ, 128), 8.0),
        measured,
        data={"train_subjects": sorted(set(everybody.subjects))},
        recordings=everybody.signals,
        folds=encoders,
    )
