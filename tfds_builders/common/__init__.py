"""Archives, checks and splits that all builders use. No module imports TensorFlow or Keras."""
