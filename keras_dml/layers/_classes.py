"""Names of classes, and the means of their support embeddings."""

import collections

import numpy as np

from keras_dml.labels import checked_labels


def distinct_names(names, rows=None):
    """Names of classes as a list of strings.

    Args:
        names: List of names.
        rows: Number of names that there must be; None: any.

    Raises:
        ValueError: For a single string, another number of names, or a name that appears twice.
    """
    if names is None or isinstance(names, str):
        raise ValueError(f"`class_names` must be a list of names. Received {names!r}.")
    names = [str(name) for name in names]
    if rows is not None and len(names) != rows:
        raise ValueError(
            f"`class_names` must be one name a class, {rows}. Received {len(names)} names."
        )
    twice = [name for name, count in collections.Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"`class_names` must differ. These come twice: {twice[:8]}.")
    return names


def new_names(names, present):
    """Names of classes that are added to the present ones.

    Raises:
        ValueError: If there is no name, one appears twice, or one is present already.
    """
    names = distinct_names(names)
    if not names:
        raise ValueError("`class_names` is empty; give at least one name.")
    known = sorted(set(names) & set(present))
    if known:
        raise ValueError(
            f"There are classes named {known} already. `extend_class` takes more examples into "
            "one; give a new class a different name."
        )
    return names


def rows_of(names, present):
    """Rows of some of the classes.

    Args:
        names: Names of classes, each once.
        present: Names of all classes.

    Raises:
        ValueError: If there is no name, one appears twice, or one is not among the classes.
    """
    names = distinct_names(names)
    unknown = [name for name in names if name not in present]
    if unknown or not names:
        raise ValueError(
            f"`class_names` must name some of the classes. Received {names[:8]}, of which these "
            f"are none: {unknown[:8]}."
        )
    return [present.index(name) for name in names]


def class_means(z, labels, names):
    """Means of the embeddings of each class.

    Args:
        z: Embeddings, shape `(count, features)`.
        labels: Class of each row, shape `(count,)`: an index of `names`, or a name among them.
        names: Names of the classes.

    Returns:
        Means, shape `(classes, features)`; counts of examples, shape `(classes,)`; differences of
        the embeddings from the means of their classes, shape `(count, features)`.

    Raises:
        ValueError: If a class has no row, or a label is not among the classes.
    """
    labels = checked_labels(_indices(labels, names), len(z), len(names))
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        missing = [name for name, count in zip(names, counts, strict=True) if not count]
        raise ValueError(f"Every class needs at least one example. None is given for {missing}.")
    sums = np.zeros((len(names), z.shape[1]))
    np.add.at(sums, labels, z)
    means = sums / counts[:, None]
    return means, counts, z - means[labels]


def whitening(differences, classes, shrinkage):
    """Computes a matrix that makes the spread of examples around their class means equal in all
    directions, from a covariance shrunk toward equal variances (linear discriminants, Fisher1936).

    Args:
        differences: Differences of embeddings from the means of their classes, shape `(count,
            features)`.
        classes: Number of these classes.
        shrinkage: Least weight of equal variances, from 0 to 1. With few examples a feature it is
            higher.

    Returns:
        `(W, spread)`: the matrix, shape `(features, features)`, and the mean of `|W'd|^2` over
        differences d. None if all differences are 0 or no class has two examples.
    """
    count, features = differences.shape
    if count <= classes or not differences.any():
        return None
    free = count - classes
    variances, axes = np.linalg.eigh(differences.T @ differences / free)
    shrinkage = max(shrinkage, features / (features + free))
    shrunk = (1 - shrinkage) * np.maximum(variances, 0) + shrinkage * variances.mean()
    return axes / np.sqrt(shrunk), float(np.sum(variances / shrunk))


def checked_vectors(z, name, features):
    """An array of embeddings as it is.

    Args:
        z: Embeddings, shape `(count, features)`.
        name: Name of the argument, for errors.
        features: Width that they must have; None: not known.

    Raises:
        ValueError: For another shape, no row, or a row that is not finite.
    """
    if z.ndim != 2 or z.shape[1] != features or not len(z):
        raise ValueError(
            f"`{name}` must hold at least one embedding, shape (count, {features or 'features'}). "
            f"Received shape {z.shape}."
        )
    if not np.isfinite(z).all():
        row = np.flatnonzero(~np.isfinite(z).all(axis=1))[0]
        raise ValueError(f"`{name}` holds NaN or infinity, first in row {row}; leave it out.")
    return z


def _indices(labels, names):
    """Labels with names of classes replaced by their indices; numbers as they are."""
    if not isinstance(labels, (list, tuple, np.ndarray)) or np.ma.isMaskedArray(labels):
        return labels
    given = np.array(labels, dtype=object)
    texts = [label.decode() if isinstance(label, bytes) else label for label in given.ravel()]
    if not texts or not all(isinstance(text, str) for text in texts):
        return labels
    unknown = sorted(set(texts) - set(names))
    if unknown:
        raise ValueError(
            f"`labels` must be names of the classes {names[:8]}, or ids. Received {unknown[:8]}. "
            "`numpy.unique(labels, return_inverse=True)` makes ids of names."
        )
    return np.reshape([names.index(text) for text in texts], given.shape)
