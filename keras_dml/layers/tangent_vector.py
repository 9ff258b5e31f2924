"""Layer that turns symmetric matrices into vectors."""

from keras_dml import distances
from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer


@keras.saving.register_keras_serializable(package="keras_dml")
class TangentVector(Head, MatrixLayer):
    """Upper triangle of symmetric matrices as a vector, with off-diagonal entries times sqrt(2).

    The factor keeps inner products. The layer is the head after `LogEig`: it returns one vector per
    recording. The Euclidean distance of the vectors is the log-Euclidean distance of the matrices
    (Kim2020, Eq. 4).

    Input shape: `(batch, ..., n, n)`, symmetric. Output shape: `(batch, ..., n (n + 1) / 2)`,
    float32 or wider under any policy.

    Example:
        >>> TangentVector()(np.array([[[1.0, 2.0], [2.0, 3.0]]])).numpy().round(4)
        array([[1.    , 2.8284, 3.    ]], dtype=float32)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.distance = distances.Euclidean()

    def call(self, inputs: Tensor) -> Tensor:
        return spd.vectorize(inputs)

    def compute_output_shape(self, input_shape: tuple) -> tuple:
        n = input_shape[-1]
        return (*input_shape[:-2], n * (n + 1) // 2)
