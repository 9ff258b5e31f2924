"""The three kinds of input that an exported model has: recordings, symmetric matrices, images.

Each kind knows the arguments of a signature that takes it, and what to try a file on.
"""

import numpy as np

from keras_dml import inference
from keras_dml._backend.tensorflow import tensorflow
from keras_dml.export._graphs import function
from keras_dml.layers import ChannelNormalization, LogMel
from keras_dml.zoo import reading

LENGTHS = (7, 100, 512)  # steps; a model of fixed length gets that one
LOUDNESS = 0.1  # deviation of the noise that a model of audio is tried on, within [-1, 1]
IMAGES = 3
SEED = 20


def of(model):
    """The kind of input that a model has.

    Args:
        model: A built `keras.Model` of one input.
    """
    if inference.takes_images(model):
        return Images(model)
    return Matrices(model) if inference.takes_matrices(model) else Signals(model)


class Signals:
    """Recordings `(time, channels)`, which come with their lengths."""

    arguments = ("signal", "length")

    def __init__(self, model):
        self.steps, self.channels = model.inputs[0].shape[1:]
        self.model = model

    def for_one(self, answer):
        """The function of one recording, cut to its length before the first layer.

        Args:
            answer: From a batch and its mask, or None, to a dict of outputs.
        """
        tf = tensorflow()

        def cut(signal, length):
            signal = signal[:, :length]
            if self.steps is not None:  # another length fails here, at run time
                signal = tf.reshape(signal, (1, self.steps, self.channels))
            return answer(signal, None)

        signal = tf.TensorSpec((1, self.steps, self.channels), tf.float32, "signal")
        return function(cut, [signal, tf.TensorSpec((), tf.int32, "length")])

    def for_batches(self, answer):
        """The function of recordings padded to one length; lengths that do not fit are refused."""
        tf = tensorflow()

        def masked(signal, length):
            time = tf.shape(signal)[1]
            shortest = time if self.steps is not None else 1
            tf.debugging.assert_greater_equal(
                length, shortest, "A `length` is too short for the model."
            )
            tf.debugging.assert_less_equal(
                length, time, "A `length` is beyond the end of `signal`."
            )
            return answer(
                signal, None if self.steps is not None else tf.sequence_mask(length, time)
            )

        signal = tf.TensorSpec((None, self.steps, self.channels), tf.float32, "signal")
        return function(masked, [signal, tf.TensorSpec((None,), tf.int32, "length")])

    def one(self, recording):
        """The arguments of a function of one recording, by name."""
        return {"signal": recording[None], "length": np.array(len(recording), np.int32)}

    def batch(self, recordings):
        """The arguments of a function of batches, by name."""
        lengths = np.array([len(recording) for recording in recordings], np.int32)
        signal = np.zeros((len(recordings), lengths.max(), self.channels), np.float32)
        for row, recording in zip(signal, recordings, strict=True):
            row[: len(recording)] = recording
        return {"signal": signal, "length": lengths}

    @staticmethod
    def length(recording):
        """Steps of a recording, rows of a matrix; None of an image, whose size is fixed."""
        return len(recording)

    def made(self):
        """Noise of several lengths in the units of the model; silence and a constant recording.

        Returns:
            Two lists of arrays: such as the model will see, and extremes.
        """
        mean, stddev, lengths = self._statistics()
        rng = np.random.default_rng(SEED)
        noise = [
            (mean + stddev * rng.normal(size=(length, self.channels))).astype(np.float32)
            for length in lengths
        ]
        constant = np.broadcast_to(mean + stddev, noise[-1].shape).astype(np.float32)
        return noise, [np.zeros_like(noise[-1]), constant]

    def _statistics(self):
        """Mean and deviation of each channel, where the model carries them, and lengths to try: of
        audio from the shortest that gives enough frames to a second."""
        mean, stddev, lengths = np.float32(0), np.float32(1), LENGTHS
        for layer in self.model.layers:
            if isinstance(layer, ChannelNormalization):
                mean, stddev = np.asarray(layer.mean), np.asarray(layer.stddev)
            elif isinstance(layer, LogMel):
                least = layer.frame + (layer.min_frames - 1) * layer.hop
                stddev, lengths = LOUDNESS, (least, 2 * least, max(layer.rate, 3 * least))
        if self.steps is not None:
            return mean, stddev, (self.steps,) * len(lengths)
        return mean, stddev, np.clip(lengths, *reading.limits(self.model)).astype(int)


class _Stacked:
    """Arrays of one shape, which a signature takes as its only argument."""

    def __init__(self, model):
        self.shape = tuple(model.inputs[0].shape[1:])

    def for_one(self, answer):
        return self._stack(answer, 1)

    def for_batches(self, answer):
        return self._stack(answer, None)

    def _stack(self, answer, rows):
        (name,) = self.arguments
        spec = tensorflow().TensorSpec((rows, *self.shape), "float32", name)
        return function(lambda array: answer(array, None), [spec])

    def one(self, array):
        return self.batch([array])

    def batch(self, arrays):
        (name,) = self.arguments
        return {name: np.stack(arrays).astype(np.float32)}

    @staticmethod
    def length(array):
        return len(array)


class Matrices(_Stacked):
    """Symmetric matrices `(n, n)`."""

    arguments = ("matrix",)

    def made(self):
        """A regular and a singular covariance, of white noise with three times as many steps as
        channels and with an eighth as many; zero and the identity."""
        n = self.shape[0]
        rng = np.random.default_rng(SEED)
        signals = [rng.normal(size=(steps, n)) for steps in (3 * n, n // 8 + 1)]
        covariances = [(x.T @ x / len(x)).astype(np.float32) for x in signals]
        return covariances, [np.zeros_like(covariances[0]), np.eye(n, dtype=np.float32)]


class Images(_Stacked):
    """Images `(height, width, channels)` with values in [0, 1]."""

    arguments = ("image",)

    @staticmethod
    def length(array):
        return None

    def made(self):
        """Uniform noise; a black, a white and a gray image."""
        rng = np.random.default_rng(SEED)
        noise = [rng.random(self.shape, np.float32) for _ in range(IMAGES)]
        return noise, [np.full(self.shape, value, np.float32) for value in (0, 1, 0.5)]
