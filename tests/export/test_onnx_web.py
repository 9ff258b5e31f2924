"""Tests ONNX files in onnxruntime-web, in headless Chromium.

The test installs onnxruntime-web by npm into a temporary folder, so it needs npm and its registry.
"""

import base64
import functools
import http.server
import importlib.util
import json
import shutil
import subprocess
import threading

import numpy as np
import pytest

import keras_dml
from keras_dml import export, zoo
from keras_dml.export import onnx_files, parity
from keras_dml.export.trials import trials
from tests.cli.browser import Browser

pytestmark = pytest.mark.slow
PACKAGE = "onnxruntime-web@1.30.0"
# the bundle for CPUs and the files that it loads
FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
NAMES = ("gait_qp_wl", "voice_xvector_sim")
CALLS = 21
LOAD = """
ort = await import("/ort.wasm.min.mjs");
ort.env.wasm.numThreads = 1;
files = {};
for (const name of ["embed", "distance"])
    files[name] = await ort.InferenceSession.create(
        `/${folder}/${name}.onnx`, {executionProviders: ["wasm"]});
prepare = (bytes, steps) => {
    const values = new Float32Array(Uint8Array.from(atob(bytes), c => c.charCodeAt(0)).buffer);
    const signal = new ort.Tensor("float32", values, [1, steps, values.length / steps]);
    return {signal, length: new ort.Tensor("int32", Int32Array.of(steps), [])};
};
embed = async recording => (await files.embed.run(recording)).embedding;
text = values => [...values].map(String);  // JSON has no NaN
return true;
"""


def missing():
    """Returns the reason why this machine cannot run the test, or None."""
    tools = [tool for tool in ("chromium", "npm") if shutil.which(tool) is None]
    tools += [name for name in onnx_files.PACKAGES if importlib.util.find_spec(name) is None]
    return f"needs {', '.join(tools)}" if tools else None


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns a folder with onnxruntime-web, and its address on a local server."""
    if missing() is not None:
        pytest.skip(missing())
    folder = tmp_path_factory.mktemp("site")
    command = ["npm", "install", "--ignore-scripts", "--prefix", folder / "npm", PACKAGE]
    installed = subprocess.run(command, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"npm could not install {PACKAGE}: {installed.stderr.strip()[-200:]}")
    for name in FILES:
        shutil.copy(folder / "npm" / "node_modules" / "onnxruntime-web" / "dist" / name, folder)
    (folder / "index.html").write_text("<!doctype html><title>ONNX</title>")
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def written(recording):
    """Returns the JavaScript expression of the arguments of `embed` for a recording."""
    data = base64.b64encode(recording.astype("<f4").tobytes()).decode()
    return f"prepare({json.dumps(data)}, {len(recording)})"


@pytest.mark.parametrize("name", NAMES)
def test_a_browser_gives_the_same_outputs_as_keras(name, site):
    folder, address = site
    model = zoo.load(name)
    made = export.onnx(model, folder / name)
    encoder, _ = export.signatures.parts(model)
    tried = trials(encoder)
    with Browser(width=390) as browser:
        browser.open(address)
        assert browser.run(f"folder = {name!r};" + LOAD)
        rows = [
            np.array(browser.run(f"return text((await embed({written(x)})).data)"), np.float64)
            for x in (np.asarray(x, np.float32) for x in tried.recordings)
        ]
        z = np.stack(rows).reshape(tried.embeddings.shape)
        invalid = np.array(tried.recordings[0], np.float32)
        invalid[3] = np.nan
        nan = browser.run(f"return text((await embed({written(invalid)})).data)")
        first, second = (np.asarray(x, np.float32) for x in tried.recordings[:2])
        distance = browser.run(
            f"const embedding = await embed({written(first)});"
            f"const gallery = await embed({written(second)});"
            "return text((await files.distance.run({embedding, gallery})).distance.data)"
        )
        timed = np.asarray(tried.timed, np.float32)
        milliseconds = browser.run(
            f"const timed = {written(timed)}, times = [];"
            f"for (let i = 0; i < {CALLS}; i++) {{"
            "const start = performance.now(); await embed(timed);"
            "times.push(performance.now() - start); } return times.sort((a, b) => a - b)"
            f"[{CALLS // 2}]"
        )
        assert not browser.complaints
    drift = parity.relative_rms(z, tried.embeddings)
    print(
        f"{name}: drift {drift:.1g}, {milliseconds:.2f} ms in the browser, "
        f"{made.latency_ms:.2f} ms in ONNX Runtime"
    )
    assert drift < 1e-5
    assert set(nan) == {"NaN"}
    expected = keras_dml.distance(model, tried.embeddings[:1], tried.embeddings[1:2]).item()
    assert float(distance[0]) == pytest.approx(expected, rel=1e-4)
