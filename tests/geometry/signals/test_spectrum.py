import numpy as np
import pytest

from keras_dml._backend import ops
from keras_dml.geometry.signals.spectrum import power_spectrum


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("samples", [1, 2, 5, 7, 12, 200, 400])
def test_the_spectrum_is_that_of_the_fourier_transform(samples, rng):
    x = rng.normal(size=(2, 3, samples)).astype("float32")
    result = ops.convert_to_numpy(power_spectrum(ops.convert_to_tensor(x)))
    expected = np.abs(np.fft.rfft(x.astype("float64"))) ** 2
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-6 * expected.max())


def test_no_matrix_is_large_enough_to_be_rounded_to_8_bits(monkeypatch, rng):
    """A converter to 8 bits does not round matrices of fewer than 1024 numbers."""
    seen, matmul = [], ops.matmul
    monkeypatch.setattr(ops, "matmul", lambda x, y: (seen.append(y.shape), matmul(x, y))[1])
    power_spectrum(ops.convert_to_tensor(rng.normal(size=(1, 400)).astype("float32")))
    assert seen and all(np.prod(shape) < 1024 for shape in seen)
