"""Pure functions of tensors on `keras.ops`: no state, no layers, no files; a folder a manifold.

- `quantile`: distributions as quantile functions; `wasserstein` their distances
- `spd`: symmetric positive definite matrices
- `vector`, `prototypes`, `similarity`: vectors, their class means, learned similarities
- `signals`: covariances and correlations of recordings
"""

from keras_dml.geometry.quantile import wasserstein

__all__ = ["wasserstein"]
