"""Layer that computes logarithms of symmetric matrices."""

from typing import Any

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.layers.matrices import MatrixLayer, compiles, functions


@keras.saving.register_keras_serializable(package="keras_dml")
class LogEig(MatrixLayer):
    """Matrix logarithm (Huang2017). The logarithm maps positive definite matrices to symmetric
    matrices, which form a flat space.

    Put `TangentVector` after this layer. Euclidean distances between the resulting vectors are
    log-Euclidean distances (Kim2020, Eq. 4) between the matrices. `TangentMap` combines `BiMap`,
    `LogEig` and `TangentVector` in one layer.

    Input and output shape: `(batch, ..., n, n)`. Only the symmetric part of the input is used. The
    output is symmetric, and finite for every finite input. The output has the dtype float32 or
    wider under any dtype policy. If an eigenvalue is below a lower limit, the layer replaces the
    eigenvalue by the limit. So zero and negative eigenvalues are allowed.

    Args:
        epsilon: Lower limit of the eigenvalues, in squared units of the signal. The layer computes
            `ReEig(epsilon)` and the logarithm with one eigendecomposition, and takes half as long
            as two separate layers. The default is machine epsilon times the largest eigenvalue,
            because this is the smallest limit that keeps the logarithm finite. For `"polynomial"`,
            the default is 1e-6 times the norm of the matrix.
        solver: Method that computes functions of matrices: `"eigh"`, or `"polynomial"` for devices
            without an eigendecomposition.

    Raises:
        ValueError: If `epsilon` is not positive, if `solver` is unknown, or if the matrices are not
            square.

    Example:
        >>> np.diag(LogEig()(np.array([[[2.0, 0.0], [0.0, 10.0]]]))[0]).round(4)
        array([0.6931, 2.3026], dtype=float32)
    """

    def __init__(self, epsilon: float | None = None, *, solver: str = "eigh", **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = None if epsilon is None else spd.check_epsilon(epsilon)
        self.solver = solver
        self._functions = functions(solver)
        self.supports_jit = compiles(solver)

    def call(self, inputs: Tensor) -> Tensor:
        if self.epsilon is None:
            return self._functions.log(inputs)
        return self._functions.rectify_log(inputs, self.epsilon)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon, "solver": self.solver}
