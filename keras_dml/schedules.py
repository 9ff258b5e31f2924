"""Learning rates over the steps of a training."""

from keras_dml._backend import keras, ops


@keras.saving.register_keras_serializable(package="keras_dml")
class InverseRootSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises in proportion to the step, then falls with its square root: base * min(t^-1/2, t *
    warmup^-3/2) (Vaswani2017; for the speech models of Monteiro2020).

    The steps t count from 1, so the first update has a rate above 0. Keras's own schedules with a
    warm-up fall by a cosine to an end that must be known.

    Args:
        base: The rate is base / sqrt(warmup) at its peak.
        warmup: The step t of the peak.

    Raises:
        ValueError: If one of them is not positive.

    Example:
        >>> float(InverseRootSchedule(0.5, 25)(24))
        0.1...
    """

    def __init__(self, base, warmup=4000):
        if not (base > 0 and warmup > 0):
            raise ValueError(
                f"`base` and `warmup` must be positive. Received base={base}, warmup={warmup}."
            )
        self.base, self.warmup = float(base), float(warmup)

    def __call__(self, step):
        t = ops.cast(step, keras.config.floatx()) + 1
        return self.base * ops.minimum(t**-0.5, t * self.warmup**-1.5)

    def get_config(self):
        return {"base": self.base, "warmup": self.warmup}
