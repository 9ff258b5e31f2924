"""Training on several devices takes the step that the documents promise, on virtual CPU devices.

A backend counts its devices once, before the first operation, so each run has its own process.
"""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
METHODS = ["QP-WL", "QP-NPL"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        keras.backend.backend() == "jax", reason="both run from the tests on TensorFlow"
    ),
]


def run(script, **environment):
    done = subprocess.run(
        [sys.executable, "-m", f"tests.models.{script}"],
        cwd=ROOT,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def assert_same_step(found, expected):
    (weights, loss), (expected_weights, expected_loss) = found, expected
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    for one, other in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def assert_same_prototypes(found, expected):
    """What is trained, the prototypes and their visits, and the loss that is told."""
    (trained, prototypes, told), (expected, expected_prototypes, wanted) = found, expected
    pairs = zip([*trained, *prototypes], [*expected, *expected_prototypes], strict=True)
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    for name, value in wanted.items():
        np.testing.assert_allclose(told[name], value, rtol=1e-5)


@pytest.fixture(scope="module")
def replicas():
    return run("tensorflow_replicas", KERAS_BACKEND="tensorflow")


@pytest.fixture(scope="module")
def devices():
    return run(
        "jax_devices",
        KERAS_BACKEND="jax",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_force_host_platform_device_count=4",
    )


@pytest.mark.parametrize("method", METHODS)
def test_two_replicas_take_the_step_that_averages_their_losses(replicas, method):
    """A scalar loss would take twice that step; a pair cut in two would be NaN."""
    result = replicas[method]
    assert replicas["replicas"] == 2
    assert_same_step(result["found"], result["expected"])


@pytest.mark.parametrize("method", METHODS)
def test_replicas_see_their_own_negatives_only(replicas, method):
    """So the step is not that of one device on the whole batch, and the test above has a point."""
    (_, found), (_, one_device) = replicas[method]["found"], replicas[method]["one_device"]
    assert found < 0.9 * one_device


def test_a_sampler_feeds_replicas_whole_pairs(replicas):
    assert np.isfinite(replicas["sampler"]).all()


@pytest.mark.parametrize("method", METHODS)
def test_four_jax_devices_take_the_step_of_one_even_where_pairs_are_apart(devices, method):
    assert devices["devices"] == 4
    assert_same_step(devices["found"][method], devices["expected"][method])


def test_two_replicas_move_prototypes_as_one_device_does(replicas):
    """And take the step down the mean of their losses."""
    assert_same_prototypes(**replicas["prototypes"])


def test_four_jax_devices_move_prototypes_as_one_does(devices):
    assert_same_prototypes(devices["found"]["prototypes"], devices["expected"]["prototypes"])


def test_two_replicas_move_the_statistics_of_potatoes_as_one_device_does(replicas):
    """On JAX a step sees the global batch."""
    result = replicas["potatoes"]
    for one, other in zip(result["found"], result["expected"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
