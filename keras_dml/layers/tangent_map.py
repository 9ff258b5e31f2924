"""The head of an SPD network in one layer."""

from keras_dml import distances
from keras_dml._keras import keras
from keras_dml.geometry import spd, spd_tangent
from keras_dml.layers._matrices import compiles, functions
from keras_dml.layers.bimap import BiMap


@keras.saving.register_keras_serializable(package="keras_dml")
class TangentMap(BiMap):
    """`BiMap`, `LogEig` and `TangentVector` in one layer: the head of an SPD network.

    The same numbers and the same weight. Where TensorFlow trains on a CPU in a graph, and matrices
    are small (48 x 48 to 24 x 24 at most), what stands around the eigendecomposition is compiled:
    64 matrices of 20 x 20 mapped to 10 x 10 take two thirds of the time. Compiling takes most of a
    second, again where a batch is larger or smaller by a quarter; the three layers apart compile
    nothing.

    Input shape: `(batch, ..., n, n)`; only the symmetric part counts. Output shape: `(batch, ...,
    units (units + 1) / 2)`, float32 or wider whatever the policy, compared by Euclidean distance,
    which is the log-Euclidean one (P3 Eq. 4) of the mapped matrices.

    Args:
        units: Size of the mapped matrices, at most n.
        epsilon: Their least eigenvalue, as of `LogEig`.
        solver: `"eigh"` or `"polynomial"`, as of `LogEig`.

    Raises:
        ValueError: As `BiMap` and `LogEig`.

    Example:
        >>> layer = TangentMap(2)
        >>> layer.build((None, 2, 2))
        >>> layer.set_weights([np.eye(2)])
        >>> layer(np.array([[[2.0, 0.0], [0.0, 10.0]]])).numpy().round(4)
        array([[0.6931, 0.    , 2.3026]], dtype=float32)
    """

    def __init__(self, units, epsilon=None, *, solver="eigh", **kwargs):
        super().__init__(units, **kwargs)
        self.epsilon = None if epsilon is None else spd.check_epsilon(epsilon)
        self.solver = solver
        self._functions = functions(solver)
        self.supports_jit = compiles(solver)
        self.distance = distances.Euclidean()

    def call(self, inputs, training=False):
        if training and self.solver == "eigh" and spd_tangent.is_faster(self.kernel):
            return spd_tangent.tangent_vectors(inputs, self.kernel, self.epsilon)
        mapped = super().call(inputs)
        if self.epsilon is None:
            return spd.vectorise(self._functions.log(mapped))
        return spd.vectorise(self._functions.rectify_log(mapped, self.epsilon))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], self.units * (self.units + 1) // 2)

    def get_config(self):
        return {**super().get_config(), "epsilon": self.epsilon, "solver": self.solver}
