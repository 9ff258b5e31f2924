"""Archives, checks and splits of all builders; without TensorFlow and Keras."""
