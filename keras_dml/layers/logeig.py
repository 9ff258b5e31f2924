"""Layer that computes logarithms of symmetric matrices."""

from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.layers.matrices import MatrixLayer, compiles, functions


@keras.saving.register_keras_serializable(package="keras_dml")
class LogEig(MatrixLayer):
    """Matrix logarithm, from positive definite matrices to the flat space of symmetric matrices
    (Huang2017).

    Follow it with `TangentVector`: Euclidean distances of these vectors are log-Euclidean distances
    (Kim2020, Eq. 4) of the matrices. `TangentMap` is `BiMap`, `LogEig` and `TangentVector` in one
    layer.

    Input and output shape: `(batch, ..., n, n)`; only the symmetric part of the input counts. The
    output is symmetric, float32 or wider under any policy, and finite for every finite input. The
    layer raises eigenvalues below the floor, including zero and negative ones, to the floor.

    Args:
        epsilon: Floor of the eigenvalues, in squared units of the signal. The layer then computes
            `ReEig(epsilon)` and the logarithm in one eigendecomposition, in half the time. None:
            the smallest floor that keeps the logarithm finite, the rounding unit times the largest
            eigenvalue (for `"polynomial"` 1e-6 times the norm of the matrix).
        solver: Same as in `ReEig`.

    Raises:
        ValueError: If `epsilon` is not positive, `solver` is unknown, or the matrices are not
            square.

    Example:
        >>> np.diag(LogEig()(np.array([[[2.0, 0.0], [0.0, 10.0]]]))[0]).round(4)
        array([0.6931, 2.3026], dtype=float32)
    """

    def __init__(self, epsilon: float | None = None, *, solver: str = "eigh", **kwargs):
        super().__init__(**kwargs)
        self.epsilon = None if epsilon is None else spd.check_epsilon(epsilon)
        self.solver = solver
        self._functions = functions(solver)
        self.supports_jit = compiles(solver)

    def call(self, inputs: Tensor) -> Tensor:
        if self.epsilon is None:
            return self._functions.log(inputs)
        return self._functions.rectify_log(inputs, self.epsilon)

    def get_config(self) -> dict:
        return {**super().get_config(), "epsilon": self.epsilon, "solver": self.solver}
