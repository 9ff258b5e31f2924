"""Choice of the threshold or boundary that decides: of a rate, or of the smallest rate."""

USUAL = 0.01  # the rate of the card's threshold that decides if no rate is named


def threshold_of(thresholds, far, provisional):
    """Returns the `Threshold` of a rate.

    Args:
        thresholds: `Threshold` by false accept rate, those that were set.
        far: The rate; None: the smallest that was set, or `USUAL` of those of the card.
        provisional: Those of the model's card, which decide while none is set.

    Raises:
        ValueError: If no threshold is set and the card has none, or the rate has none.
    """
    if not thresholds and not provisional:
        raise ValueError(
            "No threshold is set, and the model has no card with one: call `calibrate` with "
            "recordings of people whom the model has never seen, or give `threshold`."
        )
    if not thresholds:
        thresholds = provisional
        far = USUAL if far is None and USUAL in provisional else far
    if far is not None and far not in thresholds:
        raise ValueError(not_calibrated(far, thresholds))
    return thresholds[min(thresholds) if far is None else far]


def boundary_of(boundaries, far):
    """Returns the `Boundary` of a rate, as `threshold_of`.

    Raises:
        ValueError: If no boundary is set, the rate has none, or an earlier version set it.
    """
    if not boundaries:
        raise ValueError(
            "No boundary is set: call `calibrate_listening` with recordings of people whom the "
            "model has never seen."
        )
    if far is not None and far not in boundaries:
        rates = ", ".join(f"{rate:g}" for rate in boundaries)
        raise ValueError(f"`far` must be a rate that was set: {rates}. Received far={far!r}.")
    chosen = boundaries[min(boundaries) if far is None else far]
    if chosen.accepts_by == "mean":
        raise ValueError(
            f"The boundary of FAR {100 * chosen.far:g} % was set by an earlier version, for mean "
            "scores: somebody who repeats one window is accepted more often. Set it again: call "
            "`calibrate_listening`."
        )
    return chosen


def not_calibrated(far, thresholds):
    """Returns the message of an error for a rate without a threshold."""
    rates = ", ".join(f"{rate:g}" for rate in thresholds) or "none is"
    return f"`far` must be a rate that was calibrated: {rates}. Received far={far!r}."
