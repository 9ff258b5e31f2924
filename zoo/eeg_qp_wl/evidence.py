"""What the card of `eeg_qp_wl` rests on: the folds of both EEG models."""

from zoo.eeg_evidence import evidence

__all__ = ["evidence"]
