"""Recognizes the error of TFDS about examples with equal keys."""

import traceback

EQUAL_KEYS = "Two examples share the same hashed key! A builder must give each example its own key."


def is_of_equal_keys(error: Exception) -> bool:
    """Returns whether TFDS failed because two examples have equal keys.

    TFDS imports TensorFlow to show the two examples. Without TensorFlow, TFDS raises an error about
    the missing module, so this function searches the traceback.
    """
    return "_raise_error_for_duplicated_keys" in "".join(traceback.format_exception(error))
