"""Provides pure functions of tensors. The functions use `keras.ops`, and no state, layers or files.
Each manifold has its own folder.

Distributions (quantile functions):

- `quantile.function`: empirical quantile functions at learned knots
- `quantile.wasserstein` (also `wasserstein`): p-Wasserstein distances and their bounds
- `quantile.pairwise`: all 1-Wasserstein distances between two sets in one pass
- `quantile.barycenter`: mixtures and Wasserstein barycenters
- `quantile.plan`: contributions of segments and of time steps to a Wasserstein distance
- `quantile.divergences`: Kullback-Leibler and Jensen-Shannon divergences, for comparison
- `quantile.order`: positions of order statistics

Symmetric positive definite (SPD) matrices (`spd` also exports the functions of its modules):

- `spd.distance`: affine-invariant, log-Euclidean, Stein and Bures-Wasserstein distances
- `spd.difference`: the symmetric matrix whose norm is the distance between two SPD matrices
- `spd.mean`: Karcher means, log-Euclidean means and geodesics
- `spd.functions`: logarithm, exponential, powers and rectification of matrices, with derivatives
- `spd.polynomial`: matrix functions by matrix products, for devices without an eigensolver
- `spd.sign_polynomials`: coefficients of the polynomials in `spd.polynomial`
- `spd.divided_differences`: difference quotients for the Daleckii-Krein derivative
- `spd.vectors`: conversion of symmetric matrices to vectors that keeps inner products
- `spd.tangent`: compiled functions that map matrices, take logarithms and return vectors
- `spd.stiefel`: orthonormal frames from polar factors or QR decompositions
- `spd.potato`: statistics of the Riemannian potato, and their updates
- `potato_scores`: z-scores of the Riemannian potato, also with NumPy alone
- `spd.matrices`, `spd.pairs`: checks and eigendecompositions of matrices and of matrix pairs

Vectors and signals:

- `vector`: cosine, Euclidean and signal-to-noise-ratio distances
- `two_covariance`: log likelihood ratios of the two-covariance model (PLDA), also with NumPy alone
- `similarity`: learned similarities between all vectors of two sets
- `prototypes`: class means and their exponential moving average (EMA)
- `signals.covariance`: covariance matrices, with shrinkage
- `signals.correlation`: correlations between channels at several time lags
- `signals.spectrum`: power spectra

All folders use `numerics` (safe arithmetic and dtypes), `chunks` (computation in blocks that limit
memory), `weights` (checked weights of means) and `namespaces` (functions with the same names for
tensors and for NumPy arrays).

A module is imported when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
