"""SPD models as a device can run them: no device has an eigendecomposition."""

from keras_dml._backend import keras
from keras_dml.layers import LogEig, TangentVector
from keras_dml.layers.matrices import MatrixLayer
from keras_dml.models import with_solver
from keras_dml.models.copies import in_float64


def works_on_matrices(model):
    """Whether a layer of the model is one on symmetric matrices."""
    return any(isinstance(layer, MatrixLayer) for layer in model._flatten_layers())


def flat(model):
    """A model whose embeddings a device can compare.

    One whose head gives positive definite matrices gets a logarithm and answers with tangent
    vectors, whose Euclidean distance is the log-Euclidean one of the matrices; the affine-invariant
    distance would need eigenvalues for each pair. Any other is returned as it is.
    """
    if not getattr(getattr(model.layers[-1], "distance", None), "is_of_matrices", False):
        return model
    vectors = TangentVector()(LogEig()(model.output))
    return keras.Model(model.input, vectors, name=model.name)


def without_eigh(model):
    """A model with the same weights and the polynomial solver, if it works on matrices."""
    return with_solver(model, "polynomial") if works_on_matrices(model) else model


def exact(model):
    """A model with the same weights in float64, if it works on matrices: where they are singular,
    an eigendecomposition in float32 is further off than the files are."""
    return in_float64(model) if works_on_matrices(model) else model
