"""Shifts the distributions of filters by discriminants of the whole recording."""

from keras_dml._backend import keras, ops
from keras_dml.layers.bounded_discriminants import BoundedDiscriminants


@keras.saving.register_keras_serializable(package="keras_dml")
class LDAShift(BoundedDiscriminants):
    """Adds linear discriminants of a recording's features to its first filters, at every step.

    The quantile function of such a filter keeps its shape and shifts as a whole, which adds to the
    Wasserstein distance. A discriminant d shifts it by `limit * tanh(d / limit)`, in the unit of
    the filters: the bound limits the weight of unusual recordings. A new layer shifts nothing; set
    the weights in closed form (`sklearn.discriminant_analysis`, as `zoo/discriminants.py` does), or
    train them.

    Input: a list of filters, shape `(batch, time, filters)`, with or without a Keras mask, which
    passes on, and features, shape `(batch, features)`. Output shape: that of the filters; computed
    in float32 or wider under any policy.

    Args:
        units: Number of discriminants, at most that of the filters.
        limit: Maximum shift, positive. Discriminants usually are in standard deviations within a
            class; beyond two, the default, they tell unusual recordings rather than classes.

    Raises:
        ValueError: If an argument is not as above, the input is not such a list, or there are fewer
            filters than discriminants.

    Example:
        >>> shift = LDAShift(1)
        >>> shift.build([(None, None, 2), (None, 3)])
        >>> shift.set_weights([np.ones((3, 1)), np.zeros(1)])
        >>> shift([np.zeros((1, 1, 2)), np.array([[10.0, 20.0, 30.0]])]).numpy()
        array([[[2., 0.]]], dtype=float32)
    """

    def __init__(self, units, limit=2.0, **kwargs):
        super().__init__(units, limit, autocast=False, **kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        ranks = [len(shape) if isinstance(shape, (tuple, list)) else 0 for shape in input_shape]
        if ranks != [3, 2] or None in (shape[-1] for shape in input_shape):
            raise ValueError(
                "LDAShift takes a list [filters, features] of shapes (batch, time, "
                "filters) and (batch, features), the last axes known. Received shapes "
                f"{input_shape}."
            )
        filters, features = input_shape
        if filters[-1] < self.units:
            raise ValueError(
                f"{self.units} discriminants need as many filters; there are {filters[-1]}. Lower "
                "`units`."
            )
        self.add_discriminants(features[-1])

    def call(self, inputs):
        filters, features = inputs
        shift = ops.pad(self.bounded(features), [[0, 0], [0, filters.shape[-1] - self.units]])
        return ops.cast(ops.cast(filters, shift.dtype) + shift[:, None], self.compute_dtype)

    def compute_mask(self, inputs, previous_mask=None):
        return None if previous_mask is None else previous_mask[0]

    def compute_output_shape(self, input_shape):
        return input_shape[0]
