"""What the builders share: archives, checks, splits, progress. Without TensorFlow and without Keras."""
