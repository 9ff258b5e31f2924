"""Function that computes the channels of a typed sentence from the times and codes of its keys."""

from __future__ import annotations

import numpy as np

TIMES = ("hold", "press_press", "release_press", "release_release")
KINDS = ("letter", "space", "shift", "backspace", "other")
CHANNELS = (*TIMES, *KINDS)
BACKSPACE, SHIFT, SPACE = 8, 16, 32
_FIRST_LETTER, _LAST_LETTER = 65, 90


def channels(
    press_ms: np.ndarray, release_ms: np.ndarray, keys: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Computes the four times and the kind of each key press.

    The hold time is the time from the press of a key to its release. The other three times begin
    at the previous key: from press to press, from the release of the previous key to the press of
    this key, and from release to release. The time from release to press is negative if the
    previous key was still down.

    A time is unknown if the key is the first one, or if the time needs a release that is before
    its own press. Unknown times are 0.

    Args:
        press_ms: Times of the presses in milliseconds, (T,) int64, in increasing order.
        release_ms: Times of the releases in milliseconds, (T,) int64. A release before its press
            is invalid, so -1 stands for an unknown release.
        keys: Key codes of JavaScript, (T,).

    Returns:
        The channels of `CHANNELS`, (T, 9) float32: four times in seconds and the five kinds of
        keys, of which one is 1 and the others are 0. Then the mask of the known times, (T, 4)
        uint8.
    """
    numbers = np.arange(len(keys))
    before = np.maximum(numbers - 1, 0)  # the previous key
    is_released = release_ms >= press_ms
    is_later = numbers > 0
    is_after_release = is_later & is_released[before]
    times_ms = np.stack(
        [
            release_ms - press_ms,
            press_ms - press_ms[before],
            press_ms - release_ms[before],
            release_ms - release_ms[before],
        ],
        axis=1,
    )  # (T, 4)
    is_known = np.stack(
        [is_released, is_later, is_after_release, is_after_release & is_released], axis=1
    )
    kinds = [
        (keys >= _FIRST_LETTER) & (keys <= _LAST_LETTER),
        keys == SPACE,
        keys == SHIFT,
        keys == BACKSPACE,
    ]
    kinds.append(~np.any(kinds, axis=0))
    seconds = np.where(is_known, times_ms / 1000, 0)
    sequence = np.concatenate([seconds, np.stack(kinds, axis=1)], axis=1).astype(np.float32)
    return sequence, is_known.astype(np.uint8)
