"""What the card of `eeg_spdnet_rpl` rests on: the folds of both EEG models."""

from zoo.eeg_evidence import evidence

__all__ = ["evidence"]
