"""Layer that turns symmetric matrices into vectors."""

from typing import Any

from keras_dml import distances
from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer


@keras.saving.register_keras_serializable(package="keras_dml")
class TangentVector(Head, MatrixLayer):
    """Vectors with the upper triangles of symmetric matrices. The layer multiplies off-diagonal
    entries by sqrt(2).

    With the factor sqrt(2), the inner product of two vectors equals the inner product of the two
    matrices. Put the layer after `LogEig` to return one vector per recording. The Euclidean
    distance between two vectors is the log-Euclidean distance between the matrices before `LogEig`
    (Kim2020, Eq. 4).

    Input shape: `(batch, ..., n, n)`, symmetric. Output shape: `(batch, ..., n (n + 1) / 2)`. The
    output has the dtype float32 or wider under any dtype policy.

    Example:
        >>> TangentVector()(np.array([[[1.0, 2.0], [2.0, 3.0]]])).numpy().round(4)
        array([[1.    , 2.8284, 3.    ]], dtype=float32)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.distance = distances.Euclidean()

    def call(self, inputs: Tensor) -> Tensor:
        return spd.vectorize(inputs)

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        n = input_shape[-1]
        return (*input_shape[:-2], n * (n + 1) // 2)
