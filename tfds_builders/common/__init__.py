"""Modules that all builders use, such as readers of archives, checks and splits. These modules do
not import TensorFlow or Keras.
"""
