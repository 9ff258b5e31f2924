"""What the builders share: archives, checks, splits. Without TensorFlow and without Keras."""
