"""One vector a recording from a network that takes windows of it."""

from keras_dml import distances
from keras_dml._backend import keras, ops
from keras_dml.geometry.numerics import mean
from keras_dml.geometry.vector import unit
from keras_dml.layers.head import Head
from keras_dml.layers.precision import full_precision


@keras.saving.register_keras_serializable(package="keras_dml")
class WindowedMean(Head, keras.layers.Layer):
    """Mean of a network's unit vectors over the windows of a recording, scaled to length 1
    (Wan2018, section 2.2: the d-vector of an utterance).

    Window k begins `k * step - lead` steps into the recording; what it covers before the beginning
    and beyond the end counts as zero. There is always the first window, and the k-th where the
    recording has at least `k * step + reach` steps.

    Input shape: `(batch, time, channels)`, with or without a Keras mask, which must be one at the
    beginning of each recording and zero after its end. Output shape: `(batch, features)`, float32
    or wider under any policy.

    Args:
        network: Built `keras.Model` from `(batch, window, channels)` to `(batch, features)`; the
            window is of a fixed length.
        step: Steps from one window to the next.
        reach: Steps that a recording must reach into a further window; at most the window.
        lead: Steps by which the first window begins before the recording.

    Raises:
        ValueError: If the network is of another form, or a number is out of range.

    Example:
        >>> network = keras.Sequential([keras.Input((4, 1)), keras.layers.Flatten()])
        >>> WindowedMean(network, step=2, reach=3)(np.array([[[3.0], [0.0], [0.0]]])).numpy()
        array([[1., 0., 0., 0.]], dtype=float32)
    """

    def __init__(self, network, step, reach, lead=0, *, dtype=None, **kwargs):
        super().__init__(dtype=full_precision(dtype), **kwargs)
        shapes = network.input_shape, network.output_shape
        if list(map(len, shapes)) != [3, 2] or shapes[0][1] is None:
            raise ValueError(
                "`network` must take windows (batch, window, channels) of a fixed length and "
                "return vectors (batch, features). Received a network from shape "
                f"{shapes[0]} to {shapes[1]}."
            )
        if step < 1 or not 1 <= reach <= shapes[0][1] or not 0 <= lead < shapes[0][1]:
            raise ValueError(
                f"`step` must be positive, `reach` in 1 ... {shapes[0][1]}, the window, and `lead` "
                f"less than it. Received step={step!r}, reach={reach!r}, lead={lead!r}."
            )
        self.network, self.window = network, shapes[0][1]
        self.step, self.reach, self.lead = int(step), int(reach), int(lead)
        self.distance = distances.Cosine()
        self.supports_masking = True

    def call(self, inputs, mask=None, training=None):
        if mask is not None:
            inputs = ops.where(ops.expand_dims(ops.cast(mask, "bool"), 2), inputs, 0)
        windows = self.windows(inputs)
        count = ops.shape(windows)[1]
        windows = ops.reshape(windows, (-1, *windows.shape[2:]))
        vectors = unit(self.network(windows, training=training))
        vectors = ops.reshape(vectors, (-1, count, vectors.shape[-1]))
        valid = None
        if mask is not None:
            steps = ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)  # (batch, 1)
            starts = self.step * ops.arange(count, dtype="int32")
            valid = ops.logical_or(starts == 0, steps >= starts + self.reach)
            valid = ops.expand_dims(valid, 2)
        return unit(mean(vectors, axis=1, mask=valid))

    def windows(self, inputs):
        """The windows of recordings of one length, shape `(batch, windows, window, channels)`.

        Args:
            inputs: Shape `(batch, time, channels)`.
        """
        starts = self.step * ops.arange(self._count(ops.shape(inputs)[1]), dtype="int32")
        padded = ops.pad(inputs, ((0, 0), (self.lead, self.window), (0, 0)))
        return ops.take(padded, starts[:, None] + ops.arange(self.window, dtype="int32"), axis=1)

    def _count(self, time):
        """Number of windows in so many steps, an int where the steps are."""
        further = (time - self.reach) // self.step
        return 1 + (max(further, 0) if isinstance(further, int) else ops.maximum(further, 0))

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.network.output_shape[-1])

    def get_config(self):
        return {
            **super().get_config(),
            "network": keras.saving.serialize_keras_object(self.network),
            "step": self.step,
            "reach": self.reach,
            "lead": self.lead,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        network = keras.saving.deserialize_keras_object(
            config["network"], custom_objects=custom_objects
        )
        return cls(**{**config, "network": network})
