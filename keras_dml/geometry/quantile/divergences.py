"""Computes Kullback-Leibler and Jensen-Shannon divergences of quantile functions, for comparison
with Wasserstein distances.

Divergences compare densities, not values. If the supports of two distributions are disjoint, the
Jensen-Shannon divergence is log 2 with gradient 0, and does not depend on the gap between the
supports. The Wasserstein distance grows with the gap (Abdelwahab2019, section 4.1). The functions
use NumPy. The functions are made for figures and tests, not for training.

>>> knots, x = np.array([0, 0.5, 1]), np.array([0.0, 0.5, 1.0])
>>> [round(jensen_shannon(x, x + gap, knots), 3) for gap in (0.5, 1, 2, 4)]
[0.347, 0.693, 0.693, 0.693]
>>> from keras_dml.geometry import wasserstein
>>> [float(wasserstein.distance(x[None], x[None] + gap, knots)) for gap in (0.5, 1, 2, 4)]
[0.5, 1.0, 2.0, 4.0]
"""

import numpy as np
from scipy.special import rel_entr

from keras_dml._typing import ArrayLike


def kullback_leibler(x: ArrayLike, y: ArrayLike, knots: ArrayLike) -> np.ndarray | float:
    """Computes the Kullback-Leibler divergence KL(x || y) of quantile functions of one filter, in
    nats.

    The probability mass between two knots is spread evenly. If neighboring knots have equal values,
    the distribution has an atom (a point with positive probability). The divergence is infinite if
    `x` has an atom where `y` has no atom.

    Args:
        x: Values at the knots, shape `(..., knots)`.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Divergences, shape `(...)`, or a float for two functions. A divergence is infinite if `x`
        has mass where `y` has no mass.

    Raises:
        ValueError: If the arguments do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    return _number(rel_entr(mass_x, mass_y).sum(axis=-1))


def jensen_shannon(x: ArrayLike, y: ArrayLike, knots: ArrayLike) -> np.ndarray | float:
    """Computes the Jensen-Shannon divergence of quantile functions of one filter, in nats.

    Args:
        x: Values at the knots, shape `(..., knots)`.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Divergences from 0 to log 2, shape `(...)`, or a float for two functions.

    Raises:
        ValueError: If the arguments do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    middle = (mass_x + mass_y) / 2
    return _number((rel_entr(mass_x, middle) + rel_entr(mass_y, middle)).sum(axis=-1) / 2)


def jensen_shannon_distance(x: ArrayLike, y: ArrayLike, knots: ArrayLike) -> np.ndarray | float:
    """Computes the square root of the Jensen-Shannon divergence for each filter, and sums the roots
    over the filters. The sum is a metric.

    Args:
        x: Values at the knots, shape `(..., filters, knots)`.
        y: Values at the same knots, broadcastable to `x`.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Distances from 0 to `filters * sqrt(log 2)`, shape `(...)`, or a float for two embeddings.
    """
    return _number(np.sqrt(np.maximum(jensen_shannon(x, y, knots), 0.0)).sum(axis=-1))


def _number(array):
    return array if array.ndim else float(array)


def _masses(x, y, knots):
    """Computes the probability masses of `x` and of `y`, each of shape `(..., cells + atoms)`. The
    masses of the cells between neighboring breakpoints come first, and the masses of the atoms
    follow."""
    x, y, knots = (np.asarray(array, np.float64) for array in (x, y, knots))
    width = np.diff(knots)
    if knots.ndim != 1 or {x.shape[-1:], y.shape[-1:]} != {knots.shape}:
        raise ValueError(
            "`x` and `y` must have shape (..., knots), and `knots` must have shape (knots,), with "
            f"the same number of knots. Received shapes {x.shape}, {y.shape} and {knots.shape}."
        )
    x, y = np.broadcast_arrays(x, y)
    leading, count = x.shape[:-1], len(knots)
    points = np.concatenate([x, y], axis=-1).reshape(-1, 2 * count)  # (rows, 2 knots)
    order = np.argsort(points, axis=-1, kind="stable")
    cuts = np.take_along_axis(points, order, axis=-1)
    gaps = np.diff(cuts, axis=-1)  # equal breakpoints leave cells of width 0, without mass
    places = np.pad(np.cumsum(gaps > 0, axis=-1), ((0, 0), (1, 0)))  # one per distinct breakpoint
    masses = []
    for values, mask in ((points[:, :count], order < count), (points[:, count:], order >= count)):
        rise = np.diff(values, axis=-1)
        cells = _in_cells(rise, width, mask, gaps)
        atoms = _in_atoms(rise, width, places[mask].reshape(-1, count), 2 * count)
        masses.append(np.concatenate([cells, atoms], axis=-1).reshape(*leading, -1))
    return masses


def _in_cells(rise, width, mask, gaps):
    density = np.divide(width, rise, out=np.zeros_like(rise), where=rise > 0)
    segment = np.cumsum(mask, axis=-1)[:, :-1] - 1  # the segment of each cell
    inside = (segment >= 0) & (segment < len(width))
    density = np.take_along_axis(density, np.clip(segment, 0, len(width) - 1), axis=-1)
    return np.where(inside, density, 0.0) * gaps


def _in_atoms(rise, width, places, count):
    rows = np.arange(len(rise))[:, None] * count
    mass = np.where(rise == 0, width, 0.0)
    bins = (rows + places[:, :-1]).ravel()
    return np.bincount(bins, mass.ravel(), minlength=count * len(rise)).reshape(-1, count)
