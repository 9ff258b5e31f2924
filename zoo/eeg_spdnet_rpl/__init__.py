"""Recipe of `eeg_spdnet_rpl`, a model that recognizes people by the covariance of one second of
EEG.
"""
