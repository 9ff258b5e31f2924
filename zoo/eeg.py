"""The EEG data set, its folds of people, and the cross-validation that both of its models share."""

from keras_dml.training import folds, measure
from keras_dml.training.golden import synthetic_recordings
from zoo import people, sequences

RATE_HZ = 256
CROP = 224
GAIN = 0.05  # change of a channel's gain between two trials of a person
FOLDS, FOLDS_SEED = 4, 7


def trials():
    """All trials. The number of a trial is its session, so that the stricter protocol separates
    early from late ones."""
    records = people.read("uci_eeg/large", "train")
    return people.collect(records, lambda record: int(record["trial"]))


def cross_validate(run, everybody, train):
    """Measures people whom the encoder of each fold has not seen.

    In the session protocols the first half of a person's trials is enrolled, the last half
    observed.

    Args:
        run: `zoo.recipe.Run`; each fold has a part of it.
        everybody: `keras_dml.training.People`, all of them.
        train: `train(run, people) -> encoder`.

    Returns:
        `keras_dml.training.measure.Measurement` over the folds, and their encoders.
    """
    parts, encoders = [], []
    for number, fold in enumerate(folds(everybody.subjects, FOLDS, FOLDS_SEED), start=1):
        print(f"fold {number}: trained without {', '.join(fold)}")
        part = run.part(f"fold_{number}")
        encoders.append(train(part, everybody.without(fold)))
        parts.append(sequences.evaluate(part, encoders[-1], everybody.of(fold).halves()))
    measured = measure.over_folds(parts)
    run.save(measured, sequences.single_recordings(len(set(everybody.subjects))))
    return measured, encoders


def publish(run, everybody, train, measured, encoders):
    """Publishes an encoder that is trained on all people, with the figures and encoders of the
    folds."""
    final = run.part("final")
    encoder = train(final, everybody)
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
