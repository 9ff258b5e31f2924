"""Layer that rectifies the eigenvalues of symmetric matrices."""

from typing import Any

from keras_dml import distances
from keras_dml._backend import keras
from keras_dml._typing import Tensor
from keras_dml.geometry import spd
from keras_dml.layers.head import Head
from keras_dml.layers.matrices import MatrixLayer, compiles, functions


@keras.saving.register_keras_serializable(package="keras_dml")
class ReEig(Head, MatrixLayer):
    """Eigenvalue rectification U max(L, epsilon) U' of a symmetric matrix U L U' (Huang2017). ReEig
    is the nonlinearity of SPD networks.

    The output is positive definite for every symmetric input, even for singular and indefinite
    matrices. The condition number of the output is bounded. The output is NaN for a matrix that
    holds NaN.

    Input and output shape: `(batch, ..., n, n)`. Only the symmetric part of the input is used. The
    output is symmetric, and has the dtype float32 or wider under any dtype policy. The gradient is
    exact, even if eigenvalues are equal. An eigenvalue that equals epsilon has gradient 0.

    Args:
        epsilon: Smallest eigenvalue of the result, in squared units of the signal. The limit does
            not adapt to the scale of the matrices. So bring the matrices to a common scale first,
            by `Covariance("trace_normalized")` or by channels with standard deviation 1. The
            default is the value of Kim2020, section 4. `distances.AffineInvariant` raises an error
            if the largest eigenvalue of a float32 matrix exceeds 2,000,000 times the smallest
            eigenvalue. Two eigenvalues of a matrix that differ by a factor above 2,000,000 cannot
            be represented in float32.
        solver: Method that computes functions of matrices: `"eigh"`, or `"polynomial"` for devices
            without an eigendecomposition. The polynomial solver uses only products of matrices.
            `keras_dml.models.with_solver` changes the solver of a model without changing the
            weights.

    Raises:
        ValueError: If `epsilon` is not positive, if `solver` is unknown, or if the matrices are not
            square.

    Example:
        >>> np.diag(ReEig(0.5)(np.array([[[2.0, 0.0], [0.0, -1.0]]]))[0]).round(6)
        array([2. , 0.5], dtype=float32)
    """

    def __init__(self, epsilon: float = 1e-4, *, solver: str = "eigh", **kwargs: Any):
        super().__init__(**kwargs)
        self.epsilon = spd.check_epsilon(epsilon)
        self.solver = solver
        self._rectify = functions(solver).rectify
        self.supports_jit = compiles(solver)
        self.distance = distances.AffineInvariant()

    def call(self, inputs: Tensor) -> Tensor:
        return self._rectify(inputs, self.epsilon)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon, "solver": self.solver}
