"""Tests that the loss of classifiers has the dtype float64. Keras's own mean would round the loss
to float32 on JAX.
"""

import numpy as np

from keras_dml._backend import keras, ops
from keras_dml.losses import PrototypicalLoss
from keras_dml.losses.prototypes import class_term


def test_a_mean_of_terms_is_not_rounded_to_float32(rng):
    labels, scores = np.array([0, 1, 2, 1]), rng.normal(size=(4, 3))
    terms = PrototypicalLoss(dtype="float64").terms(
        ops.convert_to_tensor(labels, "int32"), ops.convert_to_tensor(scores), None, None
    )
    values = class_term(ops.convert_to_tensor(scores), ops.convert_to_tensor(labels, "int32"))
    assert keras.backend.standardize_dtype(terms[0].dtype) == "float64"
    expected = np.mean(ops.convert_to_numpy(values))
    np.testing.assert_allclose(ops.convert_to_numpy(terms[0]), expected, rtol=1e-14)
