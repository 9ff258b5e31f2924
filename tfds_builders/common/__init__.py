"""Modules that all builders use, such as readers of archives, checks and splits. They do not import
TensorFlow or Keras.
"""
