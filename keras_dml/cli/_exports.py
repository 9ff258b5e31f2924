"""Provides what exports of models and of galleries share: names of arguments, and the reader of
recordings that calibrate int8 quantization.
"""

SUBJECT = "An export"  # in the error for missing packages
NAMES = {  # how `keras-dml export` spells arguments of `keras_dml.export` in messages
    "representative": "--representative FILE.npz",
    "quantization": "--quantization",
    "quantization=None": "--quantization float32",
    'quantization="dynamic"': "--quantization dynamic",
    'quantization="float16"': "--quantization float16",
    "distance": "`distance=` in Python",
    "steps": "--steps",
    "packages": "--npm-packages",
    "tflite()": "--to tflite",
    "tflm": "`tflm=` in Python",
}


def read_recordings(path):
    """Reads the arrays of an `.npz` file, in the order of their names.

    Raises:
        ValueError: If the file is not an `.npz` file of numbers.
        FileNotFoundError: If the file does not exist.
    """
    import numpy as np

    from keras_dml import _arrays
    from keras_dml.zoo import archive

    with open(path, "rb") as file:
        try:
            names = archive.check(file)
            if not names:
                raise ValueError("the zip file is empty")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return [_arrays.real(f"`{key}`", arrays[key]) for key in sorted(arrays)]
        except Exception as error:  # damaged archives and arrays raise many types of errors
            raise ValueError(
                f"{path} is not an .npz file of recordings: {archive.first_line(error)} Write such "
                "a file by numpy.savez(path, *recordings). A recording has the shape (time, "
                "channels), and an image has the shape (height, width, channels)."
            ) from error
