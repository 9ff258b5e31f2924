"""Provides what exports of models and of galleries share: names of arguments, and readers of the
recordings that an export needs.
"""

from keras_dml.cli import _options

SUBJECT = "An export"  # in the error for missing packages
# how `keras-dml export` spells arguments of `keras_dml.export` in messages
NAMES = _options.READING_NAMES | {
    "representative": "--representative FILE.npz",
    "quantization": "--quantization",
    "quantization=None": "--quantization float32",
    'quantization="dynamic"': "--quantization dynamic",
    'quantization="float16"': "--quantization float16",
    "distance": "`distance=` in Python",
    "steps": "--steps",
    "gallery": "--gallery-size",
    "window": "--window",
    "block": "--block",
    "recordings": "--recordings FOLDER",
    "people": "the people in FOLDER",
    "packages": "--npm-packages",
    "tflite()": "--to tflite",
    "tflm": "--tflm",
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


def read_people(listing, model, reading, steps):
    """Reads the recordings of a listing for a model, and cuts them into windows.

    Args:
        listing: A `keras_dml.recordings.Listing`.
        model: A `keras.Model`.
        reading: Options for reading files, an `_options.Reading`.
        steps: Largest number of time steps of a window.

    Returns:
        Tuple `(windows, people)` of two lists. `people` contains the name of the person of each
        window.

    Raises:
        ValueError: If the model does not accept any file.
    """
    from keras_dml.cli import _galleries
    from keras_dml.export import signatures
    from keras_dml.gallery.keras_model import KerasModel

    loaded = KerasModel(model)
    reader = _galleries.reader_of_model(loaded, reading)
    recordings, entries, _ = _galleries.read_listing(reader, listing)
    least, windows, people = signatures.limits(loaded.inputs).least, [], []
    for recording, entry in zip(recordings, entries, strict=True):
        for start in range(0, len(recording), steps):
            window = recording[start : start + steps]
            if len(window) >= least:
                windows.append(window)
                people.append(entry.person)
    return windows, people
