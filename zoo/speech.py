"""Reads the speech of RAVDESS at 16 kHz, divides the speakers into folds, and makes trials for
speaker verification.
"""

import numpy as np

from keras_dml.training import People
from tfds_builders.common.splits import by_subject
from tfds_builders.hyke_voice.hyke_voice_dataset_builder import SEXES
from tfds_builders.ravdess_speech.ravdess_speech_dataset_builder import sex_of
from zoo.people import read

RATE_HZ = 16_000
LEVEL = 0.05  # root mean square of speech, full scale 1: -26 dB, the customary level of telephony
BLOCK, MARGIN = 320, 1_600  # samples: 20 ms to measure loudness in, 100 ms kept around the speech
QUIETEST = 1e-4  # power of speech, as a fraction of the loudest block's: -40 dB


def utterances(prepare=True):
    """Reads all speech recordings of RAVDESS, sorted by speaker and file.

    A file with the same bytes as an earlier file is left out. Otherwise a trial could compare an
    utterance with itself.

    Args:
        prepare: Whether to trim the recordings and to scale them to the same level, see `prepared`.
            If False, the recordings are not changed.

    Returns:
        `People` with recordings of shape `(samples, 1)`, float32, 16 kHz. The subject is the
        speaker, such as `"01"`. The session is the sentence and the emotion, so that a sampler
        prefers different utterances.
    """
    splits = read("ravdess_speech/speech16k")
    records = [record for split in splits.values() for record in split if not record["same_as"]]
    records.sort(key=lambda record: record["file"])
    audio = [np.array(record["audio"]) for record in records]  # a record's own is read-only
    return People(
        [prepared(sound)[:, None] if prepare else sound[:, None] for sound in audio],
        [record["subject"].decode() for record in records],
        [f"{record['statement']}/{record['emotion']}" for record in records],
    )


def prepared(sound):
    """Trims a recording to its speech and scales it to the usual level of speech.

    The recordings of RAVDESS begin and end with up to a second of silence. The level depends on the
    actor and on the distance to the microphone, and differs by up to 25 dB between recordings. A
    model could learn to recognize the actors by their level, but the level does not identify
    speakers in other recordings. Therefore differences of the level are removed. Silence is
    measured relative to the loudest 20 ms, so recordings of any device can be prepared in the same
    way.

    Args:
        sound: Shape `(samples,)`, 16 kHz.

    Returns:
        A part of the recording, float32, with a root mean square of 0.05. This part begins with the
        first block and ends with the last block whose level is within 40 dB of the loudest block. A
        margin of 100 ms is added at both ends.

    Raises:
        ValueError: If the recording is shorter than 20 ms or silent.
    """
    blocks = len(sound) // BLOCK
    power = np.square(sound[: blocks * BLOCK].reshape(blocks, BLOCK), dtype=np.float64).mean(axis=1)
    if not blocks:
        raise ValueError(
            f"Received {len(sound)} samples. A recording must contain speech and at least {BLOCK} "
            "samples. Leave the recording out."
        )
    if power.max() == 0:
        raise ValueError(
            "Received a recording whose samples are all 0. A recording must contain speech. "
            "Leave the recording out."
        )
    loud = np.flatnonzero(power >= QUIETEST * power.max())
    first, last = loud[0] * BLOCK - MARGIN, (loud[-1] + 1) * BLOCK + MARGIN
    speech = sound[max(first, 0) : last]
    scale = LEVEL / np.sqrt(np.square(speech, dtype=np.float64).mean())
    return (speech * scale).astype(np.float32)


def sex(speaker):
    """Returns the sex of a speaker. The argument is the id of an actor in RAVDESS, such as `"01"`,
    or of a voice in Hyke, such as `"F..."`.
    """
    return sex_of(int(speaker)) if speaker.isdigit() else SEXES[speaker[0]]


def folds(speakers, count=5):
    """Divides speakers into folds so that each fold contains men and women. The result is the same
    on every machine.

    Args:
        speakers: Ids of speakers, of the same form as the argument of `sex`. Repeated ids count
            once.
        count: Number of folds.

    Returns:
        Tuple of `count` disjoint tuples of ids.

    Raises:
        ValueError: If there are fewer men than folds, or if there are fewer women than folds.
    """
    fractions = {str(fold): 1 / count for fold in range(count)}
    sexes = {}
    for speaker in speakers:
        sexes.setdefault(sex(speaker), []).append(speaker)
    parts = [by_subject(ids, fractions) for _, ids in sorted(sexes.items())]
    return tuple(tuple(sorted(sum((part[fold] for part in parts), ()))) for fold in fractions)


def trials(subjects, parts):
    """Returns all pairs of two utterances in the same fold.

    Speakers in different folds are not compared, because different models compute their scores.

    Args:
        subjects: Speaker of each utterance.
        parts: Output of `folds`.

    Returns:
        Arrays `(first, second, genuine, fold)` of shape `(trials,)`. The arrays contain the indices
        of the two utterances, whether the same person speaks in both utterances, and the fold that
        is held out.
    """
    subjects = np.asarray(subjects)
    pieces = []
    for fold, speakers in enumerate(parts):
        members = np.flatnonzero(np.isin(subjects, speakers))
        i, j = np.triu_indices(len(members), 1)
        pieces.append((members[i], members[j], np.full(len(i), fold)))
    first, second, fold = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return first, second, subjects[first] == subjects[second], fold
