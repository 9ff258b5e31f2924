"""Layer that combines `BiMap`, `LogEig` and `TangentVector` into the head of an SPD network."""

from typing import Any

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry.spd import tangent
from keras_dml.layers.bimap import BiMap
from keras_dml.layers.logeig import LogEig
from keras_dml.layers.tangent_vector import TangentVector


@keras.saving.register_keras_serializable(package="keras_dml")
class TangentMap(BiMap):
    """`BiMap`, `LogEig` and `TangentVector` in one layer. The layer is the head of an SPD network.

    The layer computes the same numbers as the three separate layers, and has the same weight as
    `BiMap`. In training with TensorFlow graphs on a CPU, the layer compiles the operations around
    the eigendecomposition if the matrices are small. The limits are 48 x 48 for the input and 24 x
    24 for the mapped matrices. With compilation, a training step that maps 64 matrices from 20 x 20
    to 10 x 10 takes two thirds of the time that the three separate layers take. Compilation takes
    almost a second. TensorFlow compiles again if the batch size changes by a quarter. The three
    separate layers do not compile anything.

    Input shape: `(batch, ..., n, n)`. The layer uses only the symmetric part of a matrix. Output
    shape: `(batch, ..., units (units + 1) / 2)`. The output has the dtype float32 or wider under
    any dtype policy. The Euclidean distance between two outputs is the log-Euclidean distance
    (Kim2020, Eq. 4) between the mapped matrices.

    Args:
        units: Size of the mapped matrices, at most n.
        epsilon: Lower limit of the eigenvalues of the mapped matrices. Default: the smallest limit
            that keeps the logarithm finite, as in `LogEig`.
        solver: Method that computes functions of matrices: `"eigh"`, or `"polynomial"` for devices
            without an eigendecomposition.

    Raises:
        ValueError: If `BiMap` does not accept `units` or the matrices, or if `LogEig` does not
            accept `epsilon` or `solver`.

    Example:
        >>> layer = TangentMap(2)
        >>> layer.build((None, 2, 2))
        >>> layer.set_weights([np.eye(2)])
        >>> layer(np.array([[[2.0, 0.0], [0.0, 10.0]]])).numpy().round(4)
        array([[0.6931, 0.    , 2.3026]], dtype=float32)
    """

    def __init__(
        self, units: int, epsilon: float | None = None, *, solver: str = "eigh", **kwargs: Any
    ):
        super().__init__(units, **kwargs)
        options = {"dtype": self.dtype_policy, "autocast": self.autocast}
        self.logarithm = LogEig(epsilon, solver=solver, **options)
        self.vector = TangentVector(**options)
        self.supports_jit = self.logarithm.supports_jit
        self.distance = self.vector.distance

    def call(self, inputs: Tensor, training: bool = False) -> Tensor:
        epsilon, solver = self.logarithm.epsilon, self.logarithm.solver
        if training and solver == "eigh" and tangent.is_faster(self.kernel):
            return tangent.tangent_vectors(inputs, self.kernel, epsilon)
        return self.vector(self.logarithm(super().call(inputs)))

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*input_shape[:-2], self.units * (self.units + 1) // 2)

    def get_config(self) -> dict[str, Any]:
        options = {"epsilon": self.logarithm.epsilon, "solver": self.logarithm.solver}
        return {**super().get_config(), **options}
