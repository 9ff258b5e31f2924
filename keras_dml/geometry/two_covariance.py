"""Computes log likelihood ratios of the two-covariance model, which is a closed form of PLDA.

The model describes a vector as x = m + y + e, with y ~ N(0, B) for each person and e ~ N(0, W) for
each recording (Prince2007, Eq. 1 and 2; Bruemmer2010, section 3). Here, the mean m is 0, the
covariance within people W is the identity, and the covariance between people B is diagonal with the
entries b, because a linear map can diagonalize both covariances.

`log_likelihood_ratio` also accepts NumPy arrays, and then does not import Keras, so that devices
can compute scores.
"""

from typing import Any

from keras_dml._typing import Tensor
from keras_dml.geometry.namespaces import namespace


def log_likelihood_ratio(
    x: Tensor, y: Tensor, variances: Tensor, x_count: Any = 1.0, y_count: Any = 1.0
) -> Tensor:
    """Computes the log likelihood ratio of two hypotheses: the vectors `x` and `y` come from the
    same person, or from two people.

    The vectors are means of recordings. With n and k recordings, the log likelihood ratio is the
    sum over the features of log N([x, y]; 0, [[b + 1/n, b], [b, b + 1/k]]) - log N(x; 0, b + 1/n) -
    log N(y; 0, b + 1/k). The ratio is positive if one person is more likely than two people.

    Args:
        x: Vectors, shape `(..., features)`, in units of the standard deviation within people.
        y: Vectors that broadcast to `x`.
        variances: Variances b between people, shape `(features,)`, at least 0.
        x_count: Number n of recordings in each mean `x`, a number, or an array that broadcasts to
            `x`, such as shape `(..., 1)`.
        y_count: Number k of recordings in each mean `y`.

    Returns:
        Log likelihood ratios in nats, shape `(...)`.
    """
    xp = namespace(x, y, variances)
    x_noise, y_noise = 1.0 / x_count, 1.0 / y_count
    x_variance, y_variance = variances + x_noise, variances + y_noise
    determinant = variances * (x_noise + y_noise) + x_noise * y_noise
    # The difference loses fewer digits for large variances than the expanded product x * y does.
    squares = (x - y) * (x - y) - x * x * (x_noise / x_variance) - y * y * (y_noise / y_variance)
    logs = xp.log(determinant / (x_variance * y_variance))
    return -0.5 * xp.sum(variances / determinant * squares + logs, axis=-1)


def pairwise(x: Tensor, y: Tensor, variances: Tensor, *, by_differences: bool = False) -> Tensor:
    """Computes the log likelihood ratios of all pairs of single recordings.

    Args:
        x: Vectors, shape `(n, features)`, in units of the standard deviation within people.
        y: Vectors, shape `(m, features)`.
        variances: Variances b between people, shape `(features,)`, at least 0.
        by_differences: Whether to compute squared distances with machine precision for sets of any
            size, see `keras_dml.geometry.vector.squared_euclidean_by_differences`.

    Returns:
        Log likelihood ratios in nats, shape `(n, m)`, see `log_likelihood_ratio`.
    """
    from keras_dml.geometry import vector  # loads Keras

    squares = vector.squared_euclidean
    if by_differences:
        squares = vector.squared_euclidean_by_differences
    xp = namespace(x, y, variances)
    determinant, total = 2.0 * variances + 1.0, variances + 1.0
    scale, excess = xp.sqrt(variances / determinant), variances / (determinant * total)
    parts = xp.sum(excess * x * x, axis=-1)[:, None] + xp.sum(excess * y * y, axis=-1)  # (n, m)
    constant = xp.sum(xp.log(determinant / (total * total)))
    return -0.5 * (squares(x * scale, y * scale) - parts + constant)
