"""Builds the eye movement network of Jaeger2019, with parts for slow and for fast velocities."""

from keras_dml._arrays import whole
from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.models._choices import choose
from keras_dml.models._normalization import batch_normalization

KERNELS = (9, 9, 9, 5, 5, 5, 5, 3, 3)  # kernel sizes of the convolutions of a part (Jaeger2019)
FILTERS = {"slow": (128,) * 3 + (256,) * 6, "fast": (32,) * 3 + (512,) * 6}
PART_UNITS, JOINT_UNITS = (256, 256, 128), (256, 128)
SLOW_FACTOR, FAST_FROM = 20.0, 0.04  # ms per degree; degrees per ms


def eye_velocity_part(kind: str, steps: int, classes: int, *, narrower: int = 1) -> keras.Model:
    """Builds one of the two parts of the network of Jaeger2019. Each part classifies people.

    For a velocity v, the slow part computes tanh(20 v), which spreads the small velocities of
    drifts and tremor and limits the large velocities of saccades. The fast part replaces v by zero
    if the norm of v is at most 0.04 degrees per millisecond, and then standardizes the result.
    Before training, adapt the layer `standardize` of the fast part to the result of
    `keras_dml.models.eye_velocity.fast_velocities` for the training data. All other layers of the
    two parts are the same. Nine convolutions, each with ReLU, batch normalization and average
    pooling by 2, are followed by three dense layers, each with ReLU and batch normalization.

    Functional model:
        Input: `velocity`, shape `(batch, steps, 2)`, angular velocity of the gaze, horizontal and
            vertical, in degrees per millisecond.
        Output: `people`, shape `(batch, classes)`, probabilities.

    Args:
        kind: Part of the network, `"slow"` or `"fast"`.
        steps: Number of time steps of a recording. Jaeger2019 uses 1,000 steps at 1 kHz.
        classes: Number of people.
        narrower: Divisor of the numbers of filters and units. Use a number above 1 for a smaller
            network.

    Returns:
        A `keras.Model`. For 1,000 steps, the slow part has 2.1 million weights without the output
        layer, and the fast part has 6.0 million weights.

    Raises:
        ValueError: If the kind is unknown, or if a number is out of range.
    """
    filters = choose("kind", kind, FILTERS)
    steps, classes = whole("steps", steps, minimum=1), whole("classes", classes, minimum=2)
    narrower = whole("narrower", narrower, minimum=1)
    velocity = keras.Input((steps, 2), name="velocity")
    x = _slow(velocity) if kind == "slow" else _fast(velocity)
    for i, (width, kernel) in enumerate(zip(filters, KERNELS, strict=True), start=1):
        convolution = keras.layers.Conv1D(
            max(1, width // narrower),
            kernel,
            padding="same",
            activation="relu",
            kernel_initializer="he_normal",
            name=f"conv_{i}",
        )
        x = batch_normalization(f"conv_{i}_norm")(convolution(x))
        x = keras.layers.AveragePooling1D(2, padding="same", name=f"pool_{i}")(x)
    x = keras.layers.Flatten(name="features")(x)
    for i, units in enumerate(PART_UNITS, start=1):
        x = _dense(units // narrower or 1, f"dense_{i}")(x)
        x = batch_normalization(f"dense_{i}_norm")(keras.layers.ReLU()(x))
    people = keras.layers.Dense(classes, activation="softmax", name="people")(x)
    return keras.Model(velocity, people, name=f"eye_velocity_{kind}")


def eye_velocity_network(slow: keras.Model, fast: keras.Model, *, narrower: int = 1) -> keras.Model:
    """Joins the two trained parts to one classifier of people (Jaeger2019). The function freezes
    the two parts. The network concatenates the probabilities of the two parts, and applies two
    dense layers with batch normalization and ReLU. The layer `embedding` returns the embeddings,
    which are compared by their cosine. `keras.Model(network.input,
    network.get_layer("embedding").output)` is a model that returns embeddings.

    Functional model:
        Input: `velocity`, shape `(batch, steps, 2)`, as in `eye_velocity_part`.
        Output: `people`, shape `(batch, classes)`, probabilities.

    Args:
        slow: Trained `eye_velocity_part("slow", ...)`.
        fast: Trained `eye_velocity_part("fast", ...)` with the same number of steps and people.
        narrower: Number by which the numbers of units of the two new layers are divided.

    Returns:
        A `keras.Model` whose parts are frozen.

    Raises:
        TypeError: If a part was not made by `eye_velocity_part`.
        ValueError: If the parts differ in their number of steps or people, or if `narrower` is out
            of range.
    """
    narrower = whole("narrower", narrower, minimum=1)
    for kind, part in {"slow": slow, "fast": fast}.items():
        if not isinstance(part, keras.Model) or part.name != f"eye_velocity_{kind}":
            raise TypeError(
                f"`{kind}` must be a model of `eye_velocity_part({kind!r}, ...)`. Received "
                f"{getattr(part, 'name', part)!r}."
            )
    if slow.input_shape != fast.input_shape or slow.output_shape != fast.output_shape:
        raise ValueError(
            "`slow` and `fast` must have equal numbers of steps and people. Received input shapes "
            f"{slow.input_shape} and {fast.input_shape} and output shapes {slow.output_shape} and "
            f"{fast.output_shape}."
        )
    slow.trainable = fast.trainable = False
    velocity = keras.Input(slow.input_shape[1:], name="velocity")
    parts = [part(velocity, training=False) for part in (slow, fast)]
    x = keras.layers.Concatenate(name="parts")(parts)
    for units, name in zip(JOINT_UNITS, ("joint", "embedding"), strict=True):
        x = _dense(units // narrower or 1, f"{name}_dense")(x)
        x = keras.layers.ReLU(name=name)(batch_normalization(f"{name}_norm")(x))
    people = keras.layers.Dense(slow.output_shape[1], activation="softmax", name="people")(x)
    return keras.Model(velocity, people, name="eye_velocity")


def fast_velocities(velocity: Tensor) -> Tensor:
    """Replaces velocities of at most 0.04 degrees per millisecond by zero.

    Args:
        velocity: Velocities, shape `(..., 2)`, in degrees per millisecond.

    Returns:
        Velocities with the shape and the unit of `velocity`.
    """
    square = keras.ops.sum(velocity * velocity, axis=-1, keepdims=True)
    return velocity * keras.ops.cast(square > FAST_FROM**2, velocity.dtype)


def _slow(velocity):
    scaled = keras.layers.Rescaling(SLOW_FACTOR, name="scale")(velocity)
    return keras.layers.Activation("tanh", name="bound")(scaled)


def _fast(velocity):
    return keras.layers.Normalization(axis=-1, name="standardize")(fast_velocities(velocity))


def _dense(units, name):
    return keras.layers.Dense(units, kernel_initializer="he_normal", name=name)
