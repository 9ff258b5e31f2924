"""Checks and scales embeddings, with NumPy alone."""

import numpy as np

SAME_KNOTS = 1e-3  # largest allowed difference; float16 files round knots by up to 5e-4
# largest allowed relative difference; float16 files round variances by a fraction of up to 5e-4
SAME_VARIANCES = 1e-3


def check_finite(name: str, embeddings: np.ndarray) -> None:
    """Checks that embeddings are finite.

    Args:
        name: Name of the argument, for error messages.
        embeddings: Embeddings, shape `(n, ...)`.

    Raises:
        ValueError: If an embedding holds NaN or infinity. The message contains the first index.
    """
    finite = np.isfinite(embeddings)
    if not finite.all():
        index = tuple(int(i) for i in np.argwhere(~finite)[0])
        raise ValueError(
            f"`{name}` holds NaN or infinity, first at {index}. Leave out these embeddings, and "
            "check the recordings from which they were computed."
        )


def check_shape(
    name: str, embeddings: np.ndarray, expected: tuple[int | None, ...], model: str
) -> None:
    """Checks the shape of embeddings.

    Args:
        name: Name of the argument, for error messages.
        embeddings: Embeddings, shape `(n, ...)`.
        expected: Shape of one embedding. An entry None stands for any size.
        model: Name of the model, for error messages.

    Raises:
        ValueError: If the embeddings have another shape.
    """
    shape = embeddings.shape[1:]
    fits = embeddings.ndim == len(expected) + 1 and all(
        size in (None, received) for received, size in zip(shape, expected, strict=True)
    )
    if not fits:
        raise ValueError(
            f"`{name}` must hold embeddings of {model!r}, shape (count, "
            f"{', '.join(map(str, expected))}). Received shape {embeddings.shape}."
        )


def check_knots(
    name: str, embeddings: np.ndarray, expected: np.ndarray | None = None, model: str | None = None
) -> None:
    """Checks the knots of quantile embeddings, which are the last row of each embedding.

    Args:
        name: Name of the argument, for error messages.
        embeddings: Embeddings, shape `(n, filters + 1, knots)`.
        expected: Knots of the model, shape `(knots,)`. By default, the knots are unknown.
        model: Name of the model, for error messages.

    Raises:
        ValueError: If the knots of an embedding do not ascend, or are the knots of another model.
    """
    knots = embeddings[:, -1].astype(np.float64)
    falling = (np.diff(knots, axis=1) <= 0).any(axis=1)
    if falling.any():
        raise ValueError(
            f"`{name}` holds no quantile embedding in row {np.flatnonzero(falling)[0]}. The "
            "last row of a quantile embedding holds the knots, which must ascend from 0 to 1. "
            "Pass embeddings that `keras_dml.embed` returned."
        )
    if expected is not None and len(knots):
        errors = np.abs(knots - expected).max(axis=1)
        if errors.max() > SAME_KNOTS:
            raise ValueError(
                f"`{name}` holds an embedding from another model in row {errors.argmax()}. Its "
                f"knots differ from the knots of {model!r}. Compute all embeddings with "
                "one model."
            )


def check_embedded(embeddings: np.ndarray, rows: np.ndarray, signals: list[np.ndarray]) -> None:
    """Checks that the embeddings that a model computed from recordings are finite.

    Args:
        embeddings: Embeddings, shape `(n, ...)`.
        rows: Index of each recording in error messages, shape `(n,)`.
        signals: Recordings, one array per embedding.

    Raises:
        ValueError: If an embedding is not finite. The message contains the index of the recording.
    """
    finite = np.isfinite(embeddings).reshape(len(embeddings), -1).all(axis=1)
    if not finite.all():
        first = np.flatnonzero(~finite)[np.argmin(rows[~finite])]
        signal = signals[first]
        raise ValueError(
            f"The embedding of recording {rows[first]} is not finite, although the recording is "
            f"finite. The recording has shape {signal.shape} and values from {signal.min():.3g} to "
            f"{signal.max():.3g}. It may be too short for the model or in a wrong unit. The model "
            "card lists the allowed lengths and units."
        )


def check_variances(name: str, embeddings: np.ndarray) -> None:
    """Checks the variances of embeddings of the two-covariance model, which are the second row of
    each embedding.

    Args:
        name: Name of the argument, for error messages.
        embeddings: Embeddings, shape `(n, 2, features)`.

    Raises:
        ValueError: If a variance is negative, or if the embeddings have different variances.
    """
    variances = embeddings[:, -1]
    negative = (variances < 0).any(axis=1)
    if negative.any():
        raise ValueError(
            f"`{name}` holds no embedding of the two-covariance model in row "
            f"{np.flatnonzero(negative)[0]}. The second row of an embedding holds variances, which "
            "must not be negative. Pass embeddings that `keras_dml.embed` returned."
        )
    if len(variances):
        errors = variance_errors(variances, variances[0])
        if errors.max() > 1:
            raise ValueError(
                f"`{name}` holds an embedding from another model in row {errors.argmax()}. Its "
                f"variances differ from the variances in row 0. Compute all embeddings with one "
                "model."
            )


def variance_errors(variances: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Returns the largest relative difference of variances for each row, divided by the largest
    allowed difference.

    Args:
        variances: Variances, shape `(n, features)`.
        expected: Expected variances, shape `(features,)`.
    """
    limit = SAME_VARIANCES * np.abs(expected) + np.finfo(np.float16).tiny
    return (np.abs(variances.astype(np.float64) - expected) / limit).max(axis=1)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Scales vectors to length 1 in float64. A zero vector stays zero.

    Args:
        vectors: Vectors, shape `(..., features)`.
    """
    vectors = vectors.astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)
