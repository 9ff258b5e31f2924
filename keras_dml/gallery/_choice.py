"""Choice of the threshold or boundary that decides: of a rate, or of the smallest rate."""


def threshold_of(thresholds, far):
    """Returns the `Threshold` of a rate.

    Args:
        thresholds: `Threshold` by false accept rate.
        far: The rate; None: the smallest.

    Raises:
        ValueError: If no threshold is set, or the rate has none.
    """
    if not thresholds:
        raise ValueError(
            "No threshold is set: call `calibrate` with recordings of people whom the model "
            "has never seen, or give `threshold`."
        )
    if far is not None and far not in thresholds:
        raise ValueError(not_calibrated(far, thresholds))
    return thresholds[min(thresholds) if far is None else far]


def boundary_of(boundaries, far):
    """Returns the `Boundary` of a rate, as `threshold_of`."""
    if not boundaries:
        raise ValueError(
            "No boundary is set: call `calibrate_listening` with recordings of people whom the "
            "model has never seen."
        )
    if far is not None and far not in boundaries:
        rates = ", ".join(f"{rate:g}" for rate in boundaries)
        raise ValueError(f"`far` must be a rate that was set: {rates}. Received far={far!r}.")
    return boundaries[min(boundaries) if far is None else far]


def not_calibrated(far, thresholds):
    """Returns the message of an error for a rate without a threshold."""
    rates = ", ".join(f"{rate:g}" for rate in thresholds) or "none is"
    return f"`far` must be a rate that was calibrated: {rates}. Received far={far!r}."
