"""Tests on virtual CPU devices that training on several devices takes the documented steps.

A backend sets its number of devices before its first operation. Therefore each run with several
devices is a separate process.
"""

import json
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest

from keras_dml import losses
from tests import xla
from tests.models import family_step, prototype_step

ROOT = pathlib.Path(__file__).parents[2]
METHODS = ["QP-WL", "QP-NPL"]
FAMILY = pytest.mark.parametrize("name", family_step.CASES)
PROTOTYPES = pytest.mark.parametrize("name", prototype_step.BUILDS)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        keras.backend.backend() == "jax", reason="the tests on TensorFlow start both backends"
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
    for first, second in zip(weights, expected_weights, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-6)


def assert_close(found, expected, atol=1e-6):
    for first, second in zip(found, expected, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-5, atol=atol)


def assert_same_prototypes(found, expected):
    """Compares weights, prototypes with their counts of visits, and the reported loss."""
    (trained, prototypes, reported), (expected, expected_prototypes, wanted) = found, expected
    assert_close([*trained, *prototypes], [*expected, *expected_prototypes])
    for name, value in wanted.items():
        np.testing.assert_allclose(reported[name], value, rtol=1e-5)


def assert_same_leavings(found, expected):
    """Compares weights, statistics and the reported loss after a step that changes the weights.

    Adding float32 numbers in another order changes the results of sixteen layers with batch
    normalization by 2e-5.
    """
    assert found["moved"] > 1e-4
    np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
    assert_close(found["trained"], expected["trained"], atol=5e-5)
    assert_close(found["state"], expected["state"], atol=2e-6)


@pytest.fixture(scope="module")
def replicas():
    return run("tensorflow_replicas", KERAS_BACKEND="tensorflow")


@pytest.fixture(scope="module")
def devices():
    return run(
        "jax_devices",
        KERAS_BACKEND="jax",
        JAX_PLATFORMS="cpu",
        JAX_TRACEBACK_IN_LOCATIONS_LIMIT="0",
        XLA_FLAGS="--xla_force_host_platform_device_count=4 --xla_backend_optimization_level=0"
        f" --xla_llvm_disable_expensive_passes=true {xla.swift()}",
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_two_replicas_take_the_step_that_averages_their_losses(replicas, method):
    """Tests the size of the step. If the two rows of a pair were on different replicas, the loss
    would be NaN.
    """
    result = replicas[method]
    assert replicas["replicas"] == 2
    assert_same_step(result["found"], result["expected"])


@pytest.mark.parametrize("method", METHODS)
def test_replicas_use_only_their_negatives(replicas, method):
    """Tests that a step on replicas differs from a step on the whole batch on one device."""
    (_, actual), (_, one_device) = replicas[method]["found"], replicas[method]["one_device"]
    assert actual < 0.9 * one_device


def test_a_sampler_feeds_replicas_whole_pairs(replicas):
    assert np.isfinite(replicas["sampler"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_four_jax_devices_take_the_step_of_one_device_if_pairs_are_divided(devices, method):
    assert devices["devices"] == 4
    assert_same_step(devices["found"]["pairs"][method], devices["expected"]["pairs"][method])


@PROTOTYPES
def test_two_replicas_move_prototypes_by_the_global_batch(replicas, name):
    """Tests that the batches of all replicas update the prototypes. The step of the weights must
    follow the gradient of the mean of the replicas' losses.
    """
    result = replicas["prototypes"][name]
    assert_same_prototypes(result["found"], result["expected"])


def test_two_replicas_move_prototypes_as_one_device_does(replicas):
    result = replicas["prototypes"]["prototypes"]
    assert_close(result["found"][1], result["one_device"][1])


@PROTOTYPES
def test_four_jax_devices_move_prototypes_as_one_does(devices, name):
    actual, expected = (devices[key]["prototypes"][name] for key in ("found", "expected"))
    assert_same_prototypes(actual, expected)


@FAMILY
def test_two_replicas_average_the_losses_of_every_loss_and_model(replicas, name):
    """Tests that the rows of each pair are on the same replica, and that statistics are updated as
    documented.
    """
    result = replicas["family"][name]
    assert_same_leavings(result["found"], result["expected"])


def test_replicas_drop_the_same_units(replicas):
    """Tests the documented behavior that replicas have equal random generators."""
    first, second = replicas["dropped"]
    assert first == second and 0 < np.mean(first) < 2


@FAMILY
def test_four_jax_devices_take_the_step_of_one_for_every_loss_and_model(devices, name):
    assert_same_leavings(devices["found"]["family"][name], devices["expected"]["family"][name])


def test_every_loss_is_trained_on_several_devices():
    tested = {type(case.loss()) for case in family_step.CASES.values()}
    tested |= {losses.WassersteinLoss, losses.NPairLoss, losses.PrototypicalLoss}  # the other steps
    assert {getattr(losses, name) for name in losses.__all__} <= tested
