"""Kullback-Leibler and Jensen-Shannon divergences of quantile functions, for comparison.

They compare densities, not values: once supports are disjoint the Jensen-Shannon divergence is
log 2 whatever the gap, and its gradient 0, while the Wasserstein distance grows with the gap
(Abdelwahab2019, section 4.1). NumPy, for figures and tests; not for training.

>>> knots, x = np.array([0, 0.5, 1]), np.array([0.0, 0.5, 1.0])
>>> [round(jensen_shannon(x, x + gap, knots), 3) for gap in (0.5, 1, 2, 4)]
[0.347, 0.693, 0.693, 0.693]
>>> from keras_dml.geometry import wasserstein
>>> [float(wasserstein.distance(x[None], x[None] + gap, knots)) for gap in (0.5, 1, 2, 4)]
[0.5, 1.0, 2.0, 4.0]
"""

import numpy as np
from scipy.special import rel_entr


def kullback_leibler(x, y, knots):
    """Kullback-Leibler divergence KL(x || y) of quantile functions of one filter, in nats.

    Between two knots the mass is spread evenly; equal neighboring values are an atom, which only an
    atom at exactly the same value can cover.

    Args:
        x: Values at the knots, shape `(..., knots)`.
        y: Values at the same knots, same shape, or one that broadcasts to it.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Shape `(...)`, a float for two functions; infinite where `x` has mass and `y` none.

    Raises:
        ValueError: If the three do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    return _number(rel_entr(mass_x, mass_y).sum(axis=-1))


def jensen_shannon(x, y, knots):
    """Jensen-Shannon divergence of quantile functions of one filter, in nats, at most log 2.

    Args:
        x: Values at the knots, shape `(..., knots)`.
        y: Values at the same knots, same shape, or one that broadcasts to it.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Shape `(...)`, a float for two functions; from 0 to log 2.

    Raises:
        ValueError: If the three do not have the same number of knots.
    """
    mass_x, mass_y = _masses(x, y, knots)
    middle = (mass_x + mass_y) / 2
    return _number((rel_entr(mass_x, middle) + rel_entr(mass_y, middle)).sum(axis=-1) / 2)


def jensen_shannon_distance(x, y, knots):
    """Sum over filters of the square root of the Jensen-Shannon divergence, a metric.

    Args:
        x: Values at the knots, shape `(..., filters, knots)`.
        y: Values at the same knots, same shape, or one that broadcasts to it.
        knots: Ascending knots, shape `(knots,)`.

    Returns:
        Shape `(...)`, a float for two embeddings; from 0 to `filters * sqrt(log 2)`.
    """
    return _number(np.sqrt(np.maximum(jensen_shannon(x, y, knots), 0.0)).sum(axis=-1))


def _number(found):
    return found if found.ndim else float(found)


def _masses(x, y, knots):
    """Mass of both in every cell between neighboring breakpoints, then in every atom, each of shape
    `(..., cells + atoms)`."""
    x, y, knots = (np.asarray(one, np.float64) for one in (x, y, knots))
    width = np.diff(knots)
    if knots.ndim != 1 or {x.shape[-1:], y.shape[-1:]} != {knots.shape}:
        raise ValueError(
            "`x`, `y` and `knots` must have one number of knots, shapes (..., knots) and (knots,). "
            f"Received shapes {x.shape}, {y.shape} and {knots.shape}."
        )
    x, y = np.broadcast_arrays(x, y)
    leading, count = x.shape[:-1], len(knots)
    both = np.concatenate([x, y], axis=-1).reshape(-1, 2 * count)  # (rows, 2 knots)
    order = np.argsort(both, axis=-1, kind="stable")
    cuts = np.take_along_axis(both, order, axis=-1)
    gaps = np.diff(cuts, axis=-1)  # equal breakpoints leave cells of width 0, without mass
    places = np.pad(np.cumsum(gaps > 0, axis=-1), ((0, 0), (1, 0)))  # equal breakpoints have one
    found = []
    for values, own in ((both[:, :count], order < count), (both[:, count:], order >= count)):
        rise = np.diff(values, axis=-1)
        cells = _in_cells(rise, width, own, gaps)
        atoms = _in_atoms(rise, width, places[own].reshape(-1, count), 2 * count)
        found.append(np.concatenate([cells, atoms], axis=-1).reshape(*leading, -1))
    return found


def _in_cells(rise, width, own, gaps):
    density = np.divide(width, rise, out=np.zeros_like(rise), where=rise > 0)
    segment = np.cumsum(own, axis=-1)[:, :-1] - 1  # in which each cell lies
    inside = (segment >= 0) & (segment < len(width))
    taken = np.take_along_axis(density, np.clip(segment, 0, len(width) - 1), axis=-1)
    return np.where(inside, taken, 0.0) * gaps


def _in_atoms(rise, width, places, count):
    rows = np.arange(len(rise))[:, None] * count
    mass = np.where(rise == 0, width, 0.0)
    bins = (rows + places[:, :-1]).ravel()
    return np.bincount(bins, mass.ravel(), minlength=count * len(rise)).reshape(-1, count)
