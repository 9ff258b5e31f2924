"""Pure functions of tensors on `keras.ops`: no state, no layers, no files."""
