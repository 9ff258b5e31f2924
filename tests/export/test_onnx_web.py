"""Tests ONNX files in onnxruntime-web, in headless Chromium.

The test installs onnxruntime-web by npm into a temporary folder, so it needs npm and its registry.
"""

import importlib.util
import subprocess

import numpy as np
import pytest

import keras_dml
from export import runtimes
from keras_dml import export, zoo
from keras_dml.export import onnx_files, parity
from keras_dml.export.trials import trials

pytestmark = pytest.mark.slow
NAMES = ("gait_qp_wl", "voice_xvector_sim")


def missing():
    """Returns the reason why this machine cannot run the test, or None."""
    tools = runtimes.OnnxRuntimeWeb.missing()
    tools += [name for name in onnx_files.PACKAGES if importlib.util.find_spec(name) is None]
    return f"needs {', '.join(tools)}" if tools else None


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns a folder with onnxruntime-web."""
    if missing() is not None:
        pytest.skip(missing())
    folder = tmp_path_factory.mktemp("site")
    try:
        runtimes.write_page(folder)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"npm could not install the packages: {error.stderr.strip()[-200:]}")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_gives_the_same_outputs_as_keras(name, site):
    model = zoo.load(name)
    (site / name).mkdir()
    made = export.onnx(model, site / name / "onnx")
    encoder, _ = export.signatures.parts(model)
    tried = trials(encoder)
    recordings = [np.asarray(x, np.float32) for x in tried.recordings]
    runtime = runtimes.OnnxRuntimeWeb().load(made.path)
    try:
        z = runtime.embed(recordings)
        invalid = recordings[0].copy()
        invalid[3] = np.nan
        nan = runtime.embed([invalid])
        distance = runtime.distance(z[:1], z[1:2]).item()
        milliseconds = runtime.milliseconds(np.asarray(tried.timed, np.float32))
        assert not runtime.browser.complaints
    finally:
        runtime.close()
    drift = parity.relative_rms(z, tried.embeddings)
    print(
        f"{name}: drift {drift:.1g}, {milliseconds:.2f} ms in the browser, "
        f"{made.latency_ms:.2f} ms in ONNX Runtime"
    )
    assert drift < 1e-5
    assert np.isnan(nan).all()
    expected = keras_dml.distance(model, tried.embeddings[:1], tried.embeddings[1:2]).item()
    assert distance == pytest.approx(expected, rel=1e-4)
