"""Finds duplicates among recordings (equal values) and among embeddings (almost equal values)."""

import hashlib

import numpy as np

# Largest relative difference of equal embeddings. We measured the largest difference between two
# embeddings of the same recording with five models of the zoo. If the recording was in two
# different batches, its embeddings differ by at most 1e-6. If a copy was read from a csv file, the
# two embeddings differ by at most 9e-6 (six decimals in the file) or 8e-4 (four digits). Embeddings
# of two different recordings in japanese_vowels_lpc, ipol_gait and hyke_voice differ by at least
# 0.2.
TOLERANCE = 1e-3
SAMPLED = 16  # count of numbers that are compared first


def content(recording):
    """Computes a digest of the shape and values of a recording. Recordings with equal shapes and
    equal values in float32 have equal digests.

    Args:
        recording: Array of any shape, or nested lists.

    Returns:
        SHA-256 digest, bytes.
    """
    values = np.ascontiguousarray(recording, np.float32)
    return hashlib.sha256(values.tobytes() + str(values.shape).encode()).digest()


def repeats(embeddings):
    """Finds embeddings that equal an earlier embedding within `TOLERANCE`.

    Args:
        embeddings: Embeddings, shape `(count, ...)`.

    Returns:
        Dict that maps the index of each repeated embedding to the index of its first occurrence.
    """
    first = {}
    for later, matches in enumerate(alike(embeddings, embeddings)):
        if matches[0] < later:
            first[later] = first.get(int(matches[0]), int(matches[0]))
    return first


def copies(recordings):
    """Finds recordings that equal an earlier recording, such as a recording that was passed in two
    file formats.

    Args:
        recordings: List of finite arrays of shape `(time, ...)`.

    Returns:
        Dict that maps the index of each repeated recording to the index of its first occurrence.
    """
    by_shape, first = {}, {}
    arrays = [np.asarray(recording) for recording in recordings]
    for i, array in enumerate(arrays):
        by_shape.setdefault(array.shape, []).append(i)
    for shape, rows in by_shape.items():
        steps = np.linspace(0, shape[0] - 1, SAMPLED, dtype=int)
        sampled = np.stack([arrays[row][steps] for row in rows])
        for later, matches in enumerate(alike(sampled, sampled)):
            for earlier in matches[matches < later]:
                i, k = rows[earlier], rows[later]
                if len(alike(arrays[k][None], arrays[i][None])[0]):
                    first[k] = first.get(i, i)
                    break
    return dict(sorted(first.items()))


def alike(embeddings, references):
    """Finds pairs of embeddings that are equal within `TOLERANCE`. Embeddings of the same recording
    differ by less than `TOLERANCE`. Embeddings of different recordings differ by more than
    `TOLERANCE`.

    The tolerance is relative to the largest number along the last axis. The tolerance is therefore
    suitable for channels in any unit, and for the knots in a quantile embedding.

    Args:
        embeddings: Embeddings, shape `(count, ...)`.
        references: Embeddings with which `embeddings` are compared, shape `(references, ...)`.

    Returns:
        List with one entry per embedding: the ascending indices of all references that equal the
        embedding.
    """
    if not len(embeddings) or not len(references):
        return [np.empty(0, int) for _ in embeddings]
    numbers = np.shape(references)[-1]
    flat, flat_references = (np.reshape(x, (len(x), -1)) for x in (embeddings, references))
    columns = np.linspace(0, flat.shape[1] - 1, SAMPLED, dtype=int)
    sampled = flat_references[:, columns]
    equal = []
    for x, limit in zip(flat, _limits(embeddings), strict=True):
        # If two embeddings are equal within TOLERANCE, the largest numbers in the two embeddings
        # differ by a factor of at most 1 / (1 - TOLERANCE).
        most = (1 + 2 * TOLERANCE) * limit[columns // numbers]
        rows = np.flatnonzero((np.abs(sampled - x[columns]) <= most).all(axis=1))
        most = np.maximum(_limits(references[rows]), limit).repeat(numbers, axis=1)
        equal.append(rows[(np.abs(flat_references[rows] - x) <= most).all(axis=1)])
    return equal


def _limits(embeddings):
    """Computes the largest allowed difference for each row of an embedding, shape
    `(count, rows)`."""
    largest = np.abs(embeddings).max(axis=-1)
    return TOLERANCE * largest.reshape(len(largest), int(np.prod(largest.shape[1:])))
