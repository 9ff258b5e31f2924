"""Recipe of `eeg_spdnet_rpl`: recognizes people by the covariance of one second of EEG."""
