"""Layer that removes silence from audio recordings."""

from typing import Any

from keras_dml._arrays import number, positive, whole
from keras_dml._backend import keras, ops, xla
from keras_dml._typing import Tensor
from keras_dml.geometry.numerics import mean, wide
from keras_dml.layers import _frames

BLOCK = 0.02  # seconds; length of a block whose level is measured
# Duration of the loudest blocks that determine the level of speech, in seconds. A click is shorter
# than this duration.
LOUD = 0.2
# Blocks whose level is 10 to 40 decibels below the level of speech count as background, which
# consists of room noise and weak phonemes.
BACKGROUND = 10.0, 40.0
ABOVE = 4.0  # decibels above the median background level at which a block is active
# A block is digital silence if its variance is below this fraction of the variance of speech. In
# 16-bit audio, one quantization step has 9e-10 times the variance of speech whose level is 6 dB
# below full scale.
DIGITAL = 1e-10


@keras.saving.register_keras_serializable(package="keras_dml")
class SilenceRemoval(keras.layers.Layer):
    """Removal of silence before, after and within speech. The layer uses an energy-based voice
    activity detector (VAD), as x-vector systems do (Snyder2018).

    The layer measures the level of blocks of 20 ms. The level of a block is the variance of its
    samples, so a constant offset does not change the level. The level of speech is the level of the
    tenth loudest block. So neither a click nor the amount of silence changes the level of speech.
    The background level is the median level of the blocks that are 10 to 40 dB below the level of
    speech. A block is active if its level is at most `depth` dB below the level of speech. If the
    background is loud, an active block must also meet a second condition: its level is at least 4
    dB above the background level, or at most 10 dB below the level of speech.

    The layer keeps all active blocks. Between two active blocks, the layer also keeps pauses of up
    to `pause` seconds, because short pauses belong to speech. The layer removes digital silence,
    which is at least 100 dB below the level of speech. The layer always keeps enough of the loudest
    blocks to output `least` samples, because the following layers need some samples. If the
    recording is multiplied by a constant, the layer keeps the same blocks.

    The layer moves kept blocks to the beginning of the recording without changing their order, and
    masks all steps after the kept blocks. So later layers, including recurrent layers, process only
    speech. On TensorFlow, the layer cuts the output to the length of the longest remaining
    recording in the batch, so that later layers spend no time on silence.

    Input and output shape: `(batch, samples, 1)`, with or without a Keras mask. The output may be
    shorter.

    Args:
        rate: Sampling rate in Hz, a multiple of 200.
        depth: Largest number of decibels by which an active block may be below the level of speech.
        pause: Longest pause between two active blocks that the layer keeps, in seconds.
        least: Number of samples that the layer always keeps.

    Raises:
        TypeError, ValueError: If an argument is out of range, or if the input is not of shape
            `(batch, samples, 1)`.

    Example:
        >>> tone = np.sin(np.arange(16000.0))[None, :, None]
        >>> silence = np.zeros((1, 160000, 1))
        >>> SilenceRemoval()(np.concatenate([silence, tone, silence], axis=1)).shape
        TensorShape([1, 16000, 1])
    """

    def __init__(
        self,
        rate: int = 16000,
        depth: float = 20.0,
        pause: float = 0.6,
        *,
        least: int = 1,
        **kwargs: Any,
    ):
        super().__init__(autocast=False, **kwargs)
        _frames.frame_sizes(rate)
        self.rate = int(rate)
        self.depth = positive("depth", depth)
        self.pause = number("pause", pause, 0)
        self.least = whole("least", least, minimum=1)
        self.block = round(BLOCK * self.rate)
        self.supports_masking = True

    ignores_zeros = True  # so `keras_dml.embed` accepts recordings that end in zeros

    @property
    def rate_hz(self) -> int:
        """Sampling rate in Hz. `keras_dml.embed` compares this rate with the rate of the
        recordings."""
        return self.rate

    def build(self, input_shape: tuple[Any, ...]) -> None:
        _frames.check_sound(input_shape)

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        inputs = ops.cast(inputs, self.compute_dtype)
        _, order, longest = self._plan(inputs, mask)
        return ops.expand_dims(_reorder(self._blocks(inputs), order)[:, :longest], 2)

    def compute_mask(self, inputs: Tensor, previous_mask: Tensor | None = None) -> Tensor | None:
        if isinstance(inputs, keras.KerasTensor):
            # While Keras builds a functional model, a mask computed here would become a constant of
            # the graph, and the model would ignore the masks of recordings.
            return previous_mask
        is_kept, order, longest = self._plan(ops.convert_to_tensor(inputs), previous_mask)
        return _reorder(is_kept, order)[:, :longest]

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return input_shape

    def _plan(self, inputs, mask):
        """Computes which steps the layer keeps and in which order it puts the blocks.

        Returns:
            `(is_kept, order, longest)`. `is_kept` is True for each step that the layer keeps, shape
            `(batch, blocks, block)`. `order` holds the indices of the blocks in their new order,
            shape `(batch, blocks)`. `longest` is the number of steps in the output.
        """
        valid = ops.ones_like(inputs[..., 0], "bool") if mask is None else ops.cast(mask, "bool")
        valid = self._blocks(ops.expand_dims(valid, 2))  # (batch, blocks, block)
        x = ops.cast(self._blocks(inputs), wide(self.variable_dtype))
        is_speech = self._is_speech(x, valid)  # (batch, blocks)
        index = ops.arange(ops.shape(is_speech)[1], dtype="int32")
        count = ops.shape(is_speech)[1]
        order = ops.sort(ops.where(is_speech, index, index + count), axis=1)
        order = ops.where(order < count, order, order - count)
        is_kept = ops.logical_and(ops.expand_dims(is_speech, 2), valid)
        longest = ops.shape(inputs)[1]
        # an exported file for recordings of a fixed number of steps has static shapes throughout
        is_static = xla.is_avoided() and inputs.shape[1] is not None
        keeps_shape = is_static or xla.compiles_each_shape() or xla.is_compiling()
        if inputs.shape[0] != 0 and not keeps_shape:
            blocks = ops.max(ops.sum(ops.cast(is_speech, "int32"), axis=1), initial=0)
            longest = ops.minimum(longest, ops.maximum(self.block * blocks, self.least))
        return is_kept, order, longest

    def _is_speech(self, x, valid):
        """Returns a mask of the blocks that the layer keeps, shape `(batch, blocks)`."""
        steps = ops.sum(ops.cast(valid, x.dtype), axis=2)
        gap = ops.where(valid, x - mean(x, axis=2, mask=valid, keepdims=True), 0)
        level = ops.where(steps > 0, mean(gap * gap, axis=2, mask=valid), -1)  # (batch, blocks)
        rank = ops.argsort(ops.argsort(-level, axis=1), axis=1)  # 0 for the loudest block
        blocks = _count(steps > 0, rank.dtype)  # (batch, 1)
        speech = _at(level, rank, ops.minimum(round(LOUD / BLOCK), blocks) - 1)
        loud, quiet = (level >= speech * 10 ** (-decibels / 10) for decibels in BACKGROUND)
        first, last = (_count(ops.logical_and(x, steps > 0), rank.dtype) for x in (loud, quiet))
        # The background level is the median level of the background blocks. Without background
        # blocks, the background level is the level of the loudest block that is quieter than
        # speech.
        background = _at(level, rank, (first + last) // 2)
        least = ops.maximum(10 ** (ABOVE / 10) * background, speech * 10 ** (-self.depth / 10))
        least = ops.minimum(least, speech * 10 ** (-BACKGROUND[0] / 10))
        # A comparison with NaN is false, so a block with NaN stays in the recording.
        active = ops.logical_not(level < least)
        spoken = _closed(active, round(self.pause / 2 / BLOCK))
        spoken = ops.logical_and(spoken, ops.logical_not(level <= DIGITAL * speech))
        loudest = rank <= -(-self.least // self.block)  # the last one may be short
        return ops.logical_and(ops.logical_or(spoken, loudest), steps > 0)

    def _blocks(self, x):
        """Splits audio `(batch, samples, 1)` into blocks `(batch, blocks, block)`. The last block
        is padded with zeros.
        """
        count = (ops.shape(x)[1] + self.block - 1) // self.block
        padded = ops.pad(x, ((0, 0), (0, self.block), (0, 0)))[:, : count * self.block]
        return ops.reshape(padded, (ops.shape(x)[0], count, self.block))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "rate": self.rate,
            "depth": self.depth,
            "pause": self.pause,
            "least": self.least,
        }


def _closed(active, reach):
    """Fills short gaps between active blocks in a mask, shape `(batch, blocks)` (morphological
    closing). The result is True for each active block, and for each block in a gap of at most
    `2 * reach` blocks between two active blocks.
    """
    x = ops.expand_dims(ops.cast(active, "float32"), 2)
    x = ops.pad(x, ((0, 0), (2 * reach, 2 * reach), (0, 0)))
    x = ops.max_pool(x, 2 * reach + 1, 1)
    return -ops.max_pool(-x, 2 * reach + 1, 1)[..., 0] > 0


def _count(which, dtype):
    """Counts the True values in each row, and returns a tensor `(batch, 1)`."""
    return ops.sum(ops.cast(which, dtype), axis=1, keepdims=True)


def _at(level, rank, place):
    """Returns, for each row, the level of the block with a given rank, shape `(batch, 1)`. If no
    block of the recording has the rank, the level is 0."""
    return ops.sum(ops.where(rank == place, level, 0), axis=1, keepdims=True)


def _reorder(blocks, order):
    """Joins the blocks of each recording in a new order, and returns a tensor
    `(batch, samples)`."""
    batch, count, block = ops.shape(blocks)
    rows = order + count * ops.expand_dims(ops.arange(batch, dtype="int32"), 1)
    reordered = ops.take(ops.reshape(blocks, (-1, block)), rows, axis=0)
    return ops.reshape(reordered, (batch, count * block))
