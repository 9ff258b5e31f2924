"""Tests of the web page of a gallery: the files that Python writes, and the page in Chromium."""

import base64
import contextlib
import dataclasses
import functools
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import threading
import time
import wave

import numpy as np
import pytest

import keras_dml
from export import quality as zoo_quality
from export import web_demo
from export.browser import Browser
from keras_dml import edge, layers, models, quality, recordings, zoo
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.cli import _demo
from keras_dml.gallery import enrollment, litert_js, names, template_files, tries, web
from keras_dml.gallery.files import Reader

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="TensorFlow writes the files"
)
STEPS = 40
POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "connect-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "worker-src": "'self'",
    "manifest-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
WIDTHS = 390, 1280
WALKERS, STRANGER, ENROLLED = {"ben": "s05", "Zoë": "s21"}, "s17", 5
REAL = 200  # recordings per model


def small():
    keras.utils.set_random_seed(1)
    signal = keras.Input((None, 3))
    declared = layers.InputContract(["x", "y", "z"], "g", 50, min_steps=8)(signal)
    return keras.Model(signal, layers.QuantileLayer(4)(declared), name="small")


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Folder with stand-ins for the packages of npm, which only Chromium would run."""
    folder = tmp_path_factory.mktemp("npm")
    for source in litert_js.FILES.values():
        path = folder / "node_modules" / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'import {{ a }} from "{litert_js.UTILS}";\n//# sourceMappingURL=index.map')
    about = {"version": litert_js.VERSION}
    path = folder / "node_modules" / litert_js.CORE / "package.json"
    path.write_text(json.dumps(about))
    return folder


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery") / "family.db"
    with galleries.Gallery(path, small()) as opened:
        rng = np.random.default_rng(0)
        people = np.repeat([f"volunteer {i}" for i in range(8)], 3)
        walks = [rng.normal(i // 3, 1, (30, 3)).astype(np.float32) for i in range(24)]
        opened.calibrate(walks, people, 0.8)
        opened._records.add("alice", opened._model.embed(walks[:2]))
        yield opened


@pytest.fixture(scope="module")
def site(gallery, packages, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "site"
    return web.export_web(gallery, folder, steps=STEPS, packages=packages)


def test_the_folder_is_complete_and_lists_its_files(site):
    files = {path.relative_to(site.path).as_posix() for path in site.path.rglob("*.*")}
    parts = {"model.tflite", "about.json", "golden.bin"}
    assert {f"models/family/{name}" for name in parts} <= files
    assert {f"litert/{name}" for name in litert_js.FILES} <= files
    text = (site.path / "files.js").read_text()
    listed = json.loads(text.removeprefix("self.SITE = ").removesuffix(";\n"))["files"]
    assert {*listed} == files - {"sw.js", "files.js"} | {"./"}
    for name, expected in listed.items():
        content = (site.path / ("index.html" if name == "./" else name)).read_bytes()
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        assert expected == f"sha256-{digest}"
    imports = [
        name
        for path in site.path.glob("*.js")
        for name in re.findall(r'(?:from|import) "\./([^"]+)"', path.read_text())
    ]
    assert len(imports) > 20 and {*imports} <= files
    assert set(site.models) == {"family"} and site.bytes == sum(
        path.stat().st_size for path in site.path.rglob("*") if path.is_file()
    )


def test_the_page_has_the_policy_and_no_inline_script_style_or_foreign_address(site):
    html = (site.path / "index.html").read_text()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == POLICY
    assert html.index("Content-Security-Policy") < html.index("<link")
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", html) == []
    links = set(re.findall(r'(?:src|href)="([^"]+)"', html))
    foreign = {link for link in links if re.match(r"(?:[a-z]+:|/)", link)}
    assert foreign == {"https://pypi.org/project/keras-dml/"}  # a link that only a person follows
    assert all((site.path / link).is_file() for link in links - foreign)
    scripts = [path for path in site.path.glob("*.js") if path.name != "files.js"]
    assert len(scripts) > 8
    for path in scripts:
        text = path.read_text()
        assert not re.search(r"https?://|\beval\(|new Function|innerHTML|console\.\w+\(", text), (
            path
        )
    litert = (site.path / "litert" / "index.js").read_text()
    assert litert == 'import { a } from "./wasm-utils.js";\n'


def test_the_page_knows_the_contract_the_thresholds_and_no_people(site, gallery):
    about = json.loads((site.path / "models" / "family" / "about.json").read_text())
    assert about["fingerprint"] == gallery._model.fingerprint
    assert (about["channels"], about["units"], about["rate_hz"]) == (["x", "y", "z"], 3 * ["g"], 50)
    assert (about["steps"], about["rows"], about["min_steps"]) == (STEPS, web.ROWS, 8)
    assert about["sensor"] == "accelerometer" and not about["is_sound"]
    (threshold,) = about["thresholds"]
    expected = gallery.thresholds[0.8]
    assert (threshold["far"], threshold["value"]) == (0.8, expected.value)
    assert not threshold["provisional"] and about["outlier_limit"] == expected.value
    assert about["tries"] == {**dataclasses.asdict(tries.Tries()), "kept": 24 * 3600}
    assert site.thresholds == {"family": expected}
    for path in site.path.rglob("*"):
        assert path.is_dir() or b"alice" not in path.read_bytes()


def test_the_golden_embeddings_are_those_of_keras_and_of_the_file(site, gallery):
    folder = site.path / "models" / "family"
    golden = json.loads((folder / "about.json").read_text())["golden"]
    numbers = np.fromfile(folder / "golden.bin", "<f4")
    walks, at = [], 0
    for steps in golden["steps"]:
        walks.append(numbers[at : at + 3 * steps].reshape(steps, 3))
        at += 3 * steps
    embeddings = numbers[at:].reshape(2, *gallery._model.embedding_shape)
    assert golden["steps"][0] < golden["steps"][1] == STEPS
    np.testing.assert_allclose(embeddings, keras_dml.embed(gallery.model, walks), rtol=0, atol=1e-6)
    distance = gallery._model.distances(embeddings[:1], embeddings[1:])[0, 0]
    assert golden["distance"] == pytest.approx(distance)
    file = edge.load(folder / "model.tflite")
    np.testing.assert_allclose(file.embed(walks), embeddings, rtol=0, atol=1e-5)


def test_unsuitable_sources_folders_and_packages_are_refused(
    gallery, packages, tmp_path, monkeypatch
):
    image = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.Flatten()])
    image = models.PrototypicalClassifier(image, 2)
    for source in (image, models.spdnet((4, 3)), "eeg_spdnet_rpl", [], [gallery, gallery]):
        with pytest.raises(ValueError):
            web.export_web(source, tmp_path / "site", packages=packages)
    with pytest.raises(ValueError, match="0.5"):
        web.export_web(gallery, tmp_path / "site", far=0.5, packages=packages)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "index.html").touch()
    with pytest.raises(ValueError, match="not a web page"):
        web.export_web(gallery, tmp_path / "thesis", packages=packages)
    with pytest.raises(FileNotFoundError, match="npm install"):
        web.export_web(gallery, tmp_path / "site", packages=tmp_path)
    path = tmp_path / "npm"
    shutil.copytree(packages, path)
    (path / "node_modules" / litert_js.CORE / "package.json").write_text('{"version": "0.1.0"}')
    with pytest.raises(ValueError, match=r"0\.1\.0"):
        web.export_web(gallery, tmp_path / "site", packages=path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="npm is not installed"):
        web.export_web(gallery, tmp_path / "site")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["npm", "thesis"]


READ = """
import { readFile } from "./read.js";
import { readFileSync } from "node:fs";
import { File } from "node:buffer";
const about = { channels: ["x", "y", "z"], channels_count: 3, units: ["g", "g", "g"], rate_hz: 50 };
const result = [];
for (const path of input) {
  const file = new File([readFileSync(path)], path);
  const read = await readFile(file, { ...about, reading: {} }, { channels: null, rate: null });
  result.push(read.recording.map((values) => [...values]));
}
console.log(JSON.stringify(result));
"""
JUDGE = """
import { fault } from "./quality.js";
const judge = ({ about, recording }) => fault(recording.map((x) => Float32Array.from(x)), about);
console.log(JSON.stringify(input.map(judge)));
"""
SELECT = """
import { outliers } from "./decide.js";
const result = [];
for (const { fresh, enrolled, limit } of input) {
  const distances = async (x, all) => Float32Array.from(all, (y) => Math.abs(x - y));
  result.push([...(await outliers({ distances }, fresh, enrolled, limit))]);
}
console.log(JSON.stringify(result));
"""


@pytest.fixture(scope="module")
def run(site, tmp_path_factory):
    """Returns a function that runs a script with an input in Node.js."""
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    folder = tmp_path_factory.mktemp("scripts")
    for path in site.path.glob("*.js"):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}')

    def run_script(script, content):
        text = f"const input = {json.dumps(content)};\n"
        (folder / "test.js").write_text(script.replace("\nconst ", f"\n{text}const ", 1))
        done = subprocess.run(["node", folder / "test.js"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run_script


def test_the_scripts_read_files_as_python(run):
    """Compares recordings with uneven times, gaps, equal times, other units and another rate."""
    paths = [str(walk(person, number)) for person in ("s05", "s22") for number in (1, 3, 4, 6)]
    for path, actual in zip(paths, run(READ, paths), strict=True):
        expected = recordings.convert(recordings.read_pieces(path, resample_hz=50)[0], 3 * ["g"])
        np.testing.assert_allclose(np.transpose(actual), expected.values, rtol=0, atol=1e-6)


READ_EVENTS = READ.replace("rate_hz: 50", "rate_hz: null, events: true")


def test_the_scripts_read_events_as_python(run, tmp_path):
    path = tmp_path / "keys.csv"
    path.write_text("time,x (g),y (g),z\n1,0.5,0.25,True\n9,,1,False\n2,2,3,False\n")
    expected = recordings.read(path, ["x", "y", "z"], events=True).values
    assert np.transpose(run(READ_EVENTS, [str(path)])[0]).tolist() == expected.tolist()


def test_the_scripts_refuse_the_same_recordings_as_python(run):
    rng = np.random.default_rng(0)
    usual = quality.Usual(("x", "y", "z"), stddev=(1, 1, 1), units=("g", "g", "1"), steps=50)
    sound = quality.Usual(("sound",), is_sound=True, crest_db=5.7)
    good = rng.normal(size=(200, 3)).astype(np.float32)
    changes = [
        (slice(0), 1, 0),
        (np.s_[:, 1], 0, 3),
        (np.s_[:, 1], 1e-3, 0),
        (np.s_[:, 2], 1e-3, 0),
        (np.s_[50:80], 0, 1),
        (np.s_[50:130, 2], 0, 0.1),
        (np.s_[:], 9.81, 0),
        (np.s_[:, :2], 9.81, 0),
        (np.s_[:], 0.05, 0),
    ]
    cases = [(usual, good[:30])]
    for rows, factor, offset in changes:
        changed = good.copy()
        changed[rows] = factor * changed[rows] + offset
        cases.append((usual, changed))
    cases.append((usual, np.clip(good, -1, 0.8)))
    noise = rng.normal(size=(8000, 1)).astype(np.float32)
    cases += [(sound, noise), (sound, np.tanh(10 * noise)), (sound, 0.01 * noise)]
    flags = dataclasses.replace(usual, flags=("z",))
    events = dataclasses.replace(flags, events=True)
    keys = np.c_[good[:, :2], good[:, 2] > 0].astype(np.float32)
    halves, repeated = keys * [1, 1, 0.5], keys.copy()
    repeated[:90] = [0, 3, 1]
    for each in (flags, events):
        cases += [(each, keys), (each, keys * [1, 1, 0]), (each, halves), (each, repeated)]
        cases += [(each, keys * [30, 30, 1]), (each, keys * [1000, 1000, 1])]
    about = {"min_steps": 8, "steps": 9000, "ignores_zeros": False, "rate_hz": 50}
    content = [
        {
            "about": {**about, "channels": each.channels, "usual": dataclasses.asdict(each)},
            "recording": recording.T.tolist(),
        }
        for each, recording in cases
    ]
    expected = [each.reason(recording) for each, recording in cases]
    assert sum(reason is None for reason in expected) == 10
    for actual, reason in zip(run(JUDGE, content), expected, strict=True):
        kinds = [text and re.split(r":| times", text)[0] for text in (actual, reason)]
        assert kinds[0] == kinds[1], (actual, reason)


def test_the_scripts_find_the_same_outliers_as_python(run):
    rng = np.random.default_rng(0)
    content = [
        {"fresh": fresh.tolist(), "enrolled": enrolled.tolist(), "limit": 1.0}
        for fresh, enrolled in (
            (rng.uniform(0, 8, rng.integers(1, 7)), rng.uniform(0, 8, rng.integers(0, 4)))
            for _ in range(60)
        )
        if len(fresh) + len(enrolled) > 1
    ]
    expected = []
    for case in content:
        fresh, enrolled = (np.float32(case[name]) for name in ("fresh", "enrolled"))
        distances = np.abs(fresh[:, None] - np.concatenate([enrolled, fresh]))
        rows = np.arange(len(fresh))
        distances[rows, len(enrolled) + rows] = np.inf
        expected.append(sorted(enrollment.outliers(distances, len(enrolled), case["limit"])))
    assert sum(map(len, expected)) > 50
    assert [sorted(rows) for rows in run(SELECT, content)] == expected


MERGE = """
import { mergeable } from "./decide.js";
const template = ([person, value, enrolled]) =>
  ({ person, enrolled, embedding: Float32Array.of(value) });
const result = [];
for (const { read, stored, limit } of input) {
  const about = { embedding: [1], outlier_limit: limit };
  const distances = async ([x], all) => Float32Array.from(all, ([y]) => Math.abs(x - y));
  try {
    const [file, own] = [read, stored].map((rows) => rows.map(template));
    const { newTemplates, far } = await mergeable({ about, distances }, file, own);
    result.push([newTemplates.map(({ person, embedding: [value] }) => [person, value]), far]);
  } catch (error) {
    result.push(error.constructor.name);
  }
}
console.log(JSON.stringify(result));
"""


def test_templates_of_a_file_are_merged_as_by_python(run):
    own = [["ben", 1, True], ["ben", 2, True]]
    cases = [
        (own, [], None, [[["ben", 1], ["ben", 2]], 0]),
        ([*own, ["ben", 1, True]], [["ben", 2, True]], None, [[["ben", 1]], 0]),  # repeated
        ([["zoe", 1, True]], own, None, "Refused"),  # enrolled as two people
        ([["ben", 1, False]], own, None, "Refused"),  # enrolled, and stored as an imposter
        ([["zoe", 1, False]], own, None, [[], 0]),  # an imposter of nobody
        ([["ben", 9, False], ["ben", 3, True]], own, 1, [[["ben", 9], ["ben", 3]], 0]),
        ([["ben", 9, True], ["ben", 3, True]], own, 1, [[["ben", 3]], 1]),  # too far
        ([["zoe", 4, True], ["zoe", 6, True]], own, 1, [[], 2]),  # unlike each other
    ]
    content = [{"read": read, "stored": stored, "limit": limit} for read, stored, limit, _ in cases]
    assert run(MERGE, content) == [expected for *_, expected in cases]


FOLDER = """
import { readFile } from "./read.js";
const text = () => Promise.reject(new DOMException("", "NotFoundError"));
const read = (name) => readFile({ name, text }, { is_sound: false }, {}).catch((error) => error);
const errors = await Promise.all(input.map(read));
console.log(JSON.stringify(errors.map((error) => [error.constructor.name, error.message])));
"""


def test_a_folder_that_is_dropped_is_refused_by_name(run):
    assert run(FOLDER, ["walks"]) == [["Refused", "walks: it cannot be read."]]


NAMES = """
import { isName } from "./names.js";
const result = input.map(isName);
console.log(JSON.stringify(result));
"""


def test_the_scripts_accept_the_same_names_as_python(run):
    texts = ["Zoë", "Zoe\u0308", "אבי כהן", "<b>", "李", "x" * 200, "\U0001f600" * 200, "a b"]
    marks = "\t\n\0\u00a0\u00ad\u200b\u200f\u202e\u2028\u2029\u3000\ue000\ufeff"
    texts += ["", " ", " a", "a ", "x" * 201, *(f"a{mark}b" for mark in marks)]
    expected = [names.name_or_none(text) is not None for text in texts]
    assert 5 < sum(expected) < len(texts) - 5
    assert run(NAMES, texts) == expected


PAUSES = """
import { left } from "./tries.js";
const result = input.map(([count, limits, kind, now]) => left(count, limits, kind, now));
console.log(JSON.stringify(result));
process.exit(); // the channel between tabs would keep Node.js running
"""


def test_the_pauses_after_rejected_claims_are_those_of_python(run):
    limits, now = tries.Tries(), 1e9
    kept = limits.seconds_kept
    cases = [
        (failures, now - age, kind)
        for failures in (1, 5, 6, 7, 12, 18, 100)
        for age in (-50, 0, 0.5, 40, 3000, kept - 1, kept + 1)
        for kind in ("claim", "identification")
    ]
    about = {**dataclasses.asdict(limits), "kept": kept}
    content = [
        ({"failures": failures, "failed": failed}, about, kind, now)
        for failures, failed, kind in cases
    ]
    expected = [
        limits.left(failures, failed, now, kind == "identification") if now - failed < kept else 0
        for failures, failed, kind in cases
    ]
    assert sum(seconds > 0 for seconds in expected) > 20
    assert run(PAUSES, content) == pytest.approx(expected)


def test_the_scripts_read_long_files_with_equal_times(run, tmp_path):
    count = 260_000
    path = tmp_path / "long.csv"
    lines = [f"{i // 2 * 2 / 50},{i % 5},{i % 7},{i % 3}" for i in range(count)]
    path.write_text("\n".join(["time_s,x (g),y (g),z (g)", *lines]))
    (lengths,) = run(READ.replace("[...values]", "values.length"), [str(path)])
    assert lengths == 3 * [pytest.approx(count, abs=2)]


def walk(person, number):
    return _demo.WALKS / person / f"{number:02}.csv"


# Chromium

SCRIPT = """
const by = (id) => document.getElementById(id);
const wait = async (done) => { while (!done()) await new Promise((go) => setTimeout(go, 20)); };
const idle = () => wait(() => !document.body.hasAttribute("aria-busy"));
const click = async (id) => { by(id).click(); await idle(); return by("answer").innerText; };
const put = async (id, files) => {
  const data = new DataTransfer();
  for (const [name, content] of files) {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    data.items.add(new File([bytes], name));
  }
  by(id).files = data.files;
  by(id).dispatchEvent(new Event("change"));
  await idle();
};
const start = async (seconds) => {
  by("seconds").value = seconds;
  by("delay").value = 0;
  by("record").click();
  await wait(() => by("state").innerText.startsWith("Recording"));
};
const move = (rows) => {
  for (const [time, x, y, z] of rows) {
    const accelerationIncludingGravity = { x, y, z };
    const event = new DeviceMotionEvent("devicemotion", { accelerationIncludingGravity });
    Object.defineProperty(event, "timeStamp", { value: time });
    window.dispatchEvent(event);
  }
};
const stored = async () => {
  const database = await new Promise((resolve) => {
    const request = indexedDB.open("keras-dml");
    request.onsuccess = () => resolve(request.result);
  });
  const request = database.transaction("templates").objectStore("templates").count();
  await new Promise((resolve) => (request.onsuccess = resolve));
  database.close();
  return request.result;
};
window.confirm = () => true;
"""


@pytest.fixture(scope="module")
def npm(tmp_path_factory):
    """Folder with the packages of npm."""
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("packages")
    names = [f"{name}@{litert_js.VERSION}" for name in (litert_js.CORE, litert_js.UTILS)]
    done = subprocess.run(["npm", "install", "--prefix", folder, "--ignore-scripts", *names])
    if done.returncode:
        pytest.skip("npm cannot download LiteRT.js")
    return folder


class Server:
    """Static web server.

    Attributes:
        requests: Paths of all requests.
        address: Address of the folder.
    """

    def __init__(self, folder):
        requests = self.requests = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                requests.append(self.path)

        handler = functools.partial(Handler, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def tone(tmp_path_factory):
    """Writes a WAV file that Chromium plays as its microphone: noise bursts."""
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    rng = np.random.default_rng(0)
    values = 4000 * rng.normal(size=48_000) * np.sin(np.arange(48_000) / 4000) ** 2
    path.write_bytes(wav(values.clip(-32768, 32767).astype("<i2"), 48_000))
    return path


def wav(values, rate):
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(values.tobytes())
    return file.getvalue()


@pytest.fixture(scope="module")
def browser(npm, tone):
    options = (
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={tone}",
    )
    with Browser(WIDTHS[0], options) as opened:
        yield opened


def voice():
    signal = keras.Input((None, 1))
    declared = layers.InputContract(["sound"], "[-1, 1]", 16_000, min_steps=4000)(signal)
    return keras.Model(signal, layers.QuantileLayer(6)(declared), name="voice")


def encoded(path):
    return [path.name, base64.b64encode(path.read_bytes()).decode()]


def opened_page(browser, server):
    browser.open(server.address)
    browser.complaints.clear()

    def act(body):
        return browser.run(SCRIPT + body)

    act("await idle(); window.reports = 0;")
    act("addEventListener('securitypolicyviolation', () => (window.reports += 1));")
    return act


@pytest.mark.slow
def test_people_enroll_and_a_stranger_is_rejected_offline(browser, npm, tmp_path):
    watch = galleries.Gallery(tmp_path / "watch.db", "watch_lda", tries=None)
    page = web.export_web([watch, voice()], tmp_path / "site", packages=npm)
    assert list(page.models) == ["watch", "voice"]
    server = Server(page.path)
    act = opened_page(browser, server)
    assert act("return by('ready').innerText;") == "Ready, also offline"
    for width in WIDTHS:
        check_layout(browser, width)
    loaded = len(server.requests)
    assert {"/models/watch/model.tflite", "/litert/litert_wasm_compat_internal.wasm"} <= {
        *server.requests
    }

    # Enroll two people by files, as the gallery does.
    reader = Reader(watch, {"resample": True})
    for name, person in WALKERS.items():
        files = [walk(person, number) for number in range(1, ENROLLED + 1)]
        act(f"await put('files', {json.dumps([encoded(path) for path in files])});")
        act(f"by('person').value = {json.dumps(name)};")
        assert act("return click('enroll');") == "No answer"  # without consent
        assert act("return stored();") == (0 if name == "ben" else ENROLLED)
        act("by('consent').checked = true;")
        assert act("return click('enroll');") == f"{name} is enrolled"
        assert watch.enroll(name, [reader.values(path) for path in files]).enrolled == ENROLLED
    assert act("return stored();") == 2 * ENROLLED

    # Decide about files offline, after a reload without a server.
    server.close()
    act = opened_page(browser, server)
    assert act("return by('ready').innerText;") == "Ready, also offline"
    counts = {True: 0, False: 0}
    for person in (*WALKERS.values(), STRANGER):
        for number in range(ENROLLED + 1, 11):
            path = walk(person, number)
            values = [reader.values(path)]
            act(f"await put('files', {json.dumps([encoded(path)])});")
            for name in WALKERS:
                expected = watch.verify(name, values).accepted
                act(f"by('person').value = {json.dumps(name)};")
                answer = act("return click('verify');")
                assert answer.startswith("Accepted" if expected else "Rejected"), path
                counts[expected] += 1
            nearest = watch.identify(values).person
            expected = "A stranger" if nearest is None else f"It is {nearest}"
            assert act("return click('identify');") == expected
            if person == STRANGER:
                assert nearest is None
    assert counts[True] >= 8 and counts[False] >= 15
    for width in WIDTHS:
        check_layout(browser, width)

    # Record by the motion sensors.
    rows = np.loadtxt(walk("s05", 9), delimiter=",", skiprows=1)
    seconds = int(rows[-1, 0] // 1000)
    act(f"await start({seconds}); move({json.dumps(rows.tolist())}); await idle();")
    assert act("return by('state').innerText;").endswith(f"is ready: {seconds} s.")
    act("by('person').value = 'ben';")
    assert act("return click('verify');") == "Accepted: it is ben"

    # Save the templates, and add them to a gallery.
    saved = act("""
      let blob = null;
      URL.createObjectURL = (content) => ((blob = content), "#");
      await click("save");
      const bytes = new Uint8Array(await blob.arrayBuffer());
      return btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
    """)
    path = tmp_path / "templates.npz"
    path.write_bytes(base64.b64decode(saved))
    about, people, enrolled, embeddings = template_files.read(path)
    assert about["fingerprint"] == watch._model.fingerprint and enrolled.all()
    watch.export_templates(tmp_path / "python.npz")
    expected = template_files.read(tmp_path / "python.npz")
    order, expected_order = (
        np.lexsort((z.reshape(len(z), -1)[:, 0], np.array(names)))
        for names, z in ((people, embeddings), (expected[1], expected[3]))
    )
    np.testing.assert_allclose(embeddings[order], expected[3][expected_order], rtol=0, atol=1e-4)
    with galleries.Gallery(tmp_path / "new.db", "watch_lda") as other:
        assert other.merge(path) == {name: ENROLLED for name in WALKERS}
        other.export_templates(tmp_path / "merged.npz")

    # Delete one person, then everything. Load the templates of the gallery.
    act("document.querySelector('#people button').click(); await idle();")
    assert act("return stored();") == ENROLLED
    act("await click('clear');")
    assert act("return stored();") == 0
    assert act("return by('nobody').checkVisibility();")
    act(f"await put('file-of-templates', {json.dumps([encoded(tmp_path / 'merged.npz')])});")
    assert act("return stored();") == 2 * ENROLLED
    bad = ["bad.npz", base64.b64encode(path.read_bytes()[:-40]).decode()]
    act(f"await put('file-of-templates', {json.dumps([bad])});")
    assert "damaged" in act("return by('detail').innerText;")

    # Switch to the model of sound, and record by the microphone.
    act(
        "by('model').value = 'voice'; by('model').dispatchEvent(new Event('change')); await idle();"
    )
    act("await start(1); await idle(); by('person').value = 'ben'; by('consent').checked = true;")
    assert act("return click('enroll');") == "ben is enrolled", act("return by('notes').innerText;")
    act("await start(1); await idle();")
    assert act("await click('identify'); return by('detail').innerText;").startswith(
        "This model has no threshold"
    )
    act("await click('clear');")
    assert act("return stored();") == 0

    assert len(server.requests) == loaded  # no request after loading
    assert browser.complaints == [] and act("return window.reports;") == 0
    watch.close()


@pytest.mark.slow
def test_the_policy_forbids_requests_to_other_servers(browser, npm, site, tmp_path):
    server = Server(tmp_path)  # the page of a stub would not start, so its HTML is enough
    shutil.copytree(site.path, tmp_path / "site")
    other = Server(tmp_path)
    browser.open(f"{server.address}site/")
    error = browser.run(
        f"return fetch({other.address!r}).then(() => 'sent', (error) => error.name);"
    )
    assert error == "TypeError" and other.requests == []
    assert any("Content Security Policy" in text for text in browser.complaints)
    server.close(), other.close()


@pytest.mark.slow
def test_a_browser_that_computes_other_numbers_makes_no_decisions(browser, npm, tmp_path):
    page = web.export_web(small(), tmp_path / "site", packages=npm)
    golden = page.path / "models" / "small" / "golden.bin"
    golden.write_bytes(golden.read_bytes()[:-4] + np.float32(100).tobytes())
    server = Server(page.path)
    act = opened_page(browser, server)
    assert "computes other numbers" in act("return by('ready').innerText;")
    assert act("return ['identify', 'verify', 'enroll'].map((id) => by(id).disabled);") == 3 * [
        True
    ]
    server.close()


# Page of one model whose people and claims are the walks of the package
PUT = "await put('files', {});"
OTHER_TAB = """
window.other = window.open(location.href);
const ready = () => other.document.getElementById("ready")?.innerText ?? "";
await wait(() => ready().startsWith("Ready"));
"""
STORED = """
const database = await new Promise((resolve) => {
  const request = indexedDB.open("keras-dml");
  request.onsuccess = () => resolve(request.result);
});
const requests = ["templates", "counts"].map(
  (name) => database.transaction(name).objectStore(name).getAll());
await Promise.all(requests.map((request) => new Promise((go) => (request.onsuccess = go))));
database.close();
return requests.map(({ result }) => result.map(({ person, kind, failures }) =>
  failures ? `${kind} ${person} ${failures}` : person));
"""


@pytest.fixture(scope="module")
def watch_site(npm, tmp_path_factory):
    return web.export_web("watch_lda", tmp_path_factory.mktemp("site") / "site", packages=npm).path


@pytest.fixture
def served(watch_site, tmp_path):
    """Server of a copy of the page."""
    shutil.copytree(watch_site, tmp_path / "site")
    server = Server(tmp_path / "site")
    yield server
    server.close()


def choose(act, *walks):
    act(PUT.format(json.dumps([encoded(walk(*each)) for each in walks])))


def enroll(act, name, *walks):
    choose(act, *walks)
    act(f"by('person').value = {json.dumps(name)}; by('consent').checked = true;")
    assert act("return click('enroll');") == f"{name} is enrolled"


def claim(act, name):
    act(f"by('person').value = {json.dumps(name)};")
    return act("return `${await click('verify')} ${by('detail').innerText}`;")


def press(browser, key):
    code = {"Enter": 13, "Tab": 9}[key]
    for kind in ("keyDown", "keyUp"):
        text = {"text": "\r"} if (key, kind) == ("Enter", "keyDown") else {}
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text
        )


@pytest.mark.slow
def test_rejected_claims_cause_pauses_that_survive_a_reload(browser, served):
    act = opened_page(browser, served)
    assert "6 rejected claims" in act("return by('tries').innerText;")
    enroll(act, "ben", *(("s05", number) for number in range(1, 4)))
    enroll(act, "zoe", *(("s21", number) for number in range(1, 4)))
    choose(act, (STRANGER, 3))
    for _ in range(tries.Tries().free + 1):
        assert claim(act, "ben").startswith("Rejected")
    assert "Wait 1 s" in claim(act, "ben")
    assert claim(act, "zoe").startswith("Rejected")  # each person has an own count
    assert act("return click('identify');") == "A stranger"

    act = opened_page(browser, served)
    choose(act, (STRANGER, 3))
    act("await new Promise((resolve) => setTimeout(resolve, 1000));")
    assert claim(act, "ben").startswith("Rejected")
    assert "Wait 2 s" in claim(act, "ben")
    _, counts = act(STORED)
    assert {"claim ben 7", "claim zoe 1"} < {*counts} and len(counts) == 3
    act("await new Promise((resolve) => setTimeout(resolve, 2000));")
    choose(act, ("s05", 9))
    assert claim(act, "ben").startswith("Accepted")
    _, counts = act(STORED)
    assert "claim zoe 1" in counts and not any("claim ben" in text for text in counts)
    for _ in range(2):
        act("document.querySelector('#people button').click(); await idle();")
    assert act(STORED) == [[], []]
    assert browser.complaints == []


@pytest.mark.slow
def test_tabs_share_people_and_deleting_leaves_nothing(browser, served):
    act = opened_page(browser, served)
    act(OTHER_TAB)
    enroll(act, "ben", ("s05", 1), ("s05", 2))
    act("await wait(() => other.document.getElementById('people').innerText.includes('ben'));")
    choose(act, ("s21", 9))
    act("""
      by("person").value = "ben";
      by("verify").click();
      other.confirm = () => true;
      other.document.getElementById("clear").click();
      await idle();
      await wait(() => !other.document.body.hasAttribute("aria-busy"));
    """)
    assert act(STORED) == [[], []]
    act("await wait(() => by('people').innerText === ''); other.close();")
    assert "Nobody is enrolled" in claim(act, "ben")
    assert browser.complaints == []


@pytest.mark.slow
def test_a_new_version_opens_when_no_tab_uses_the_old_version(browser, served, tmp_path):
    def ready():
        return act("await wait(() => by('ready')); await idle(); return by('task').innerText;")

    def close_other_tab():
        (page,) = (
            page["targetId"]
            for page in browser.call("Target.getTargets")["targetInfos"]
            if page["type"] == "page" and not page["attached"]
        )
        browser.call("Target.closeTarget", targetId=page)

    act = opened_page(browser, served)
    enroll(act, "ben", ("s05", 1), ("s05", 2))
    choose(act, ("s05", 9))
    act(OTHER_TAB)
    about = tmp_path / "site" / "models" / "watch_lda" / "about.json"
    content = {**json.loads(about.read_text()), "fingerprint": "f" * 16, "task": "Other model"}
    about.write_text(json.dumps(content))
    (tmp_path / "site" / "files.js").unlink()
    web._write_list_of_files(tmp_path / "site")

    assert claim(act, "ben").startswith("Accepted")  # the open tab is not affected
    for _ in range(2):  # the other tab still uses the old version
        browser.open(served.address)
        assert ready() != "Other model."
        act("await wait(() => by('newer').checkVisibility());")
    choose(act, ("s05", 9))
    assert claim(act, "ben").startswith("Accepted")
    close_other_tab()
    act(OTHER_TAB)  # a new tab does not end the old version in the only open tab
    assert act("return other.document.getElementById('task').innerText;") != "Other model."
    act("await wait(() => other.document.getElementById('newer').checkVisibility());")
    assert claim(act, "ben").startswith("Accepted")
    close_other_tab()
    browser.open(served.address)
    end = time.monotonic() + 20
    task = None
    while task != "Other model." and time.monotonic() < end:
        with contextlib.suppress(
            AssertionError
        ):  # the old version sends a page that reloads itself
            task = act("return by('task')?.innerText;")
    assert ready() == "Other model."
    assert not act("return by('newer').checkVisibility();")
    assert act("return (await caches.keys()).length;") == 1
    choose(act, ("s05", 9))
    assert "Nobody is enrolled" in claim(act, "ben")  # templates of another model
    assert "keeps 2 templates of other models" in act("return by('others').innerText;")
    act("await click('clear');")
    assert act(STORED) == [[], []] and browser.complaints == []


@pytest.mark.slow
def test_files_of_another_version_are_not_kept_offline(browser, served, tmp_path):
    (tmp_path / "site" / "icon.svg").write_text("<svg/>")
    act = opened_page(browser, served)
    assert act("return by('ready').innerText;") == "Ready"
    enroll(act, "ben", ("s05", 1), ("s05", 2))


@pytest.mark.slow
def test_problems_of_the_database_are_named(browser, served):
    scripts = (
        "Object.defineProperty(window, 'indexedDB', { value: undefined });",
        "IDBFactory.prototype.open = () => { throw new DOMException('', 'SecurityError'); };",
    )
    for script in scripts:  # as in private windows of some browsers
        added = browser.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        act = opened_page(browser, served)
        assert "private browsing" in act("return by('ready').innerText;")
        assert act("return by('enroll').disabled;")
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **added)

    origin = served.address.rstrip("/")
    browser.call("Storage.overrideQuotaForOrigin", origin=origin, quotaSize=1000)
    act = opened_page(browser, served)
    assert act("return by('ready').innerText;") == "Ready"
    choose(act, ("s05", 1), ("s05", 2))
    act("by('person').value = 'ben'; by('consent').checked = true;")
    assert act("return click('enroll');") == "No answer"
    assert "no space" in act("return by('detail').innerText;")
    assert act(STORED) == [[], []]
    browser.call("Storage.overrideQuotaForOrigin", origin=origin)
    act("""
      const request = indexedDB.open("keras-dml", 3);
      const database = await new Promise((go) => (request.onsuccess = () => go(request.result)));
      database.close();
    """)
    assert "newer version of this page" in claim(act, "ben")
    assert browser.complaints == []


@pytest.mark.slow
def test_the_page_works_by_keyboard_and_with_unusual_names(browser, served):
    act = opened_page(browser, served)
    enroll(act, "<img src=x onerror=alert(1)>", ("s05", 1), ("s05", 2))
    enroll(act, "x" * 200, ("s21", 1), ("s21", 2))
    enroll(act, "אבי כהן 12", ("s22", 1), ("s22", 2))
    act("by('person').value = 'a\\u202eb'; by('consent').checked = true;")
    choose(act, (STRANGER, 3))
    assert act("return click('enroll');") == "No answer"
    for width in WIDTHS:
        check_layout(browser, width)
    assert act("return document.querySelectorAll('main img').length;") == 0

    claim(act, "אבי כהן 12")
    act("by('result').hidden = true; by('person').focus();")
    press(browser, "Enter")
    act("await wait(() => by('result').checkVisibility()); await idle();")
    assert act("return by('answer').innerText;") == "Rejected: not אבי כהן 12"
    act("by('seconds').focus();")
    order = ["seconds", "delay", "record", "files", None, "person", "consent", "identify", "verify"]
    for name in [*order, "enroll"]:
        assert name in (None, act("return document.activeElement.id;"))
        visible = "by('drop')" if name == "files" else "document.activeElement"
        assert act(f"return getComputedStyle({visible}).outlineStyle;") == "solid"
        press(browser, "Tab")
    act("document.querySelector('#people button').focus(); document.activeElement.click();")
    act("await idle();")
    assert act("return document.activeElement.id;") == "answer"  # the focused button was removed
    act("by('model').append(new Option('gone')); by('model').value = 'gone';")
    act("by('model').dispatchEvent(new Event('change')); await idle();")
    assert "cannot be loaded" in act("return by('detail').innerText;")
    assert act("return by('model').value;") == "watch_lda"  # the model that decides
    act("by('rate').value = 'fast';")
    choose(act, (STRANGER, 4))
    assert "positive number" in act("return by('detail').innerText;")
    assert browser.complaints == []


@pytest.fixture(params=web_demo.MODELS)
def name(request):
    return request.param


@pytest.fixture
def demo(name, browser, npm, tmp_path):
    """Returns a function that runs scripts on the demo's page of one model."""
    web_demo.main([name, "--out", str(tmp_path / "site"), "--npm-packages", str(npm)])
    server = Server(tmp_path / "site")
    yield opened_page(browser, server)
    server.close()


@pytest.mark.slow
def test_decisions_equal_those_of_the_gallery_on_real_recordings(name, demo, data_dir, tmp_path):
    """Compares quality checks, scores and decisions on recordings of test people, which Python and
    the page read from the same files."""
    people = zoo_quality.test_recordings(zoo.card(name))
    rows = np.linspace(0, len(people.signals) - 1, min(REAL, len(people.signals))).astype(int)
    subjects = [str(people.people[row]) for row in rows]
    card = zoo.card(name)
    longest = json.loads(demo(f"return (await fetch('models/{name}/about.json')).text();"))["steps"]
    files, signals = [], []
    for i, row in enumerate(rows):
        signal = np.asarray(people.signals[row], np.float32)[:longest]
        if card["input"]["channels"] == ["sound"]:
            path = tmp_path / f"{i}.wav"
            path.write_bytes(wav((signal[:, 0] * 32768).clip(-32768, 32767).astype("<i2"), 16_000))
            values = recordings.read(path).values
        else:
            path = tmp_path / f"{i}.csv"
            units = card["input"]["units"]
            channels = card["input"]["channels"]
            header = ",".join(f"{c} ({u})" for c, u in zip(channels, units, strict=True))
            np.savetxt(path, signal, "%.9g", ",", header=header, comments="")
            values = recordings.read(path, channels).values
        files.append(path)
        signals.append(values)

    demo(f"""
      const [model, read, decide, quality] = await Promise.all(
        ["model", "read", "decide", "quality"].map((file) => import(`./${{file}}.js`)));
      window.loaded = await model.loadModel("{name}");
      window.kept = [];
      window.readRecording = async (name, content) => {{
        const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
        const {{ recording }} = await read.readFile(
          new File([bytes], name), loaded.about, {{ channels: null, rate: null }});
        const fault = quality.fault(recording, loaded.about);
        return {{ fault, embedding: fault ? null : await loaded.embed(recording) }};
      }};
      window.decide = decide;
    """)
    gallery = galleries.Gallery(tmp_path / "people.db", name, tries=None)
    limit = gallery.deciding.value
    unfit = gallery.unfit(signals)
    enrolled, probes, counts = [], [], {}
    for i, subject in enumerate(subjects):
        counts[subject] = counts.get(subject, 0) + 1
        # two recordings of every other person are enrolled; the other people are strangers
        is_enrolled = counts[subject] <= 2 and sorted(set(subjects)).index(subject) % 2 == 0
        (enrolled if is_enrolled else probes).append(i)
    for i in enrolled:
        person = json.dumps(subjects[i])
        fault = demo(f"""
          const {{ fault, embedding }} = await readRecording(...{json.dumps(encoded(files[i]))});
          if (!fault) kept.push({{ person: {person}, enrolled: true, embedding }});
          return fault;
        """)
        assert (fault is None) == (i not in unfit), (fault, unfit.get(i))
        if i not in unfit:
            gallery.enroll(subjects[i], [signals[i]])
    differences, scores, flips, claims, accepted = [], [], 0, 0, 0
    for i in probes:
        result = demo(f"""
          const {{ fault, embedding }} = await readRecording(...{json.dumps(encoded(files[i]))});
          if (fault) return {{ fault }};
          const scores = await decide.scores(loaded, [embedding], kept);
          const {{ person }} = await decide.identify(loaded, [embedding], kept, {limit});
          return {{ fault, person, scores: scores.map(({{ person, score }}) => [person, score]) }};
        """)
        assert (result["fault"] is None) == (i not in unfit), (result["fault"], unfit.get(i))
        if i in unfit:
            continue
        answer = gallery.identify([signals[i]], top=1000)
        assert result["person"] == answer.person
        expected = {candidate.person: candidate.score for candidate in answer.candidates}
        actual = dict(result["scores"])
        assert actual.keys() == expected.keys()
        for person, score in expected.items():
            differences.append(abs(actual[person] - score))
            scores.append(score)
            flips += (actual[person] <= limit) != (score <= limit)
            accepted += score <= limit
            claims += 1
    gallery.close()
    print(
        f"{name}: {len(rows)} recordings, {len(unfit)} unfit, {len(enrolled)} enrolled, {claims} "
        f"claims, {accepted} accepted, {flips} flips, largest difference {max(differences):.2g}, "
        f"standard deviation of scores {np.std(scores):.3g}"
    )
    assert len(rows) >= 150 and claims > 500 and 0 < accepted < claims
    assert flips == 0 and max(differences) <= 1e-3 * np.std(scores)


# Finds words that are broken over two lines, and elements that are outside the window.
LAYOUT = r"""
const { scrollWidth, clientWidth } = document.documentElement;
const outside = [...document.body.querySelectorAll("*")].filter(
  (part) => part.getBoundingClientRect().right > clientWidth + 1).map((part) => part.outerHTML);
const unlabeled = [...document.querySelectorAll("input, select, button, canvas, progress")].filter(
  (part) => !(part.labels && part.labels.length) && !part.innerText && !part.ariaLabel &&
    part.checkVisibility()).map((part) => part.outerHTML);
return { outside, unlabeled, wider: scrollWidth - clientWidth };
"""


def check_layout(browser, width):
    browser.resize(width)
    assert browser.run(LAYOUT) == {"outside": [], "unlabeled": [], "wider": 0}
    browser.resize(WIDTHS[0])
