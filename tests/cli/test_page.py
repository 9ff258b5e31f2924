"""Tests the web page of `keras-dml serve` in Chromium, with a fake microphone and fake sensors."""

import base64
import io
import json
import os
import shutil
import threading
import wave

import numpy as np
import pytest

from export.browser import Browser
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.cli import _demo
from keras_dml.contract import Contract
from keras_dml.gallery.server import app, listening, readers, sensors, settings, tokens
from keras_dml.layers import InputContract, QuantileLayer

NAME = "people.test"  # not a loopback name, so Chromium gives its pages no secure context
WIDTHS = 390, 1280
FULL, VERIFY = b"0123456789abcdef", b"fedcba9876543210"
TONE_HZ, MICROPHONE_HZ, SOUND_HZ = 440, 48_000, 16_000
WALKERS = {"ben": "s05", "Alexandra": "s21"}
STRANGER = "s17"
ENROLLED = 3  # number of walks per person
SCRIPT = """
const by = (id) => document.getElementById(id);
const wait = async (done) => { while (!done()) await new Promise((go) => setTimeout(go, 20)); };
const idle = () => wait(() => !document.body.hasAttribute("aria-busy"));
const click = async (id) => { by(id).click(); await idle(); return by("answer").innerText; };
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
// Returns the name and the bytes of the file that a task sends.
const sent = async (task) => {
  let file = null;
  const append = FormData.prototype.append;
  FormData.prototype.append = function (name, value) {
    if (name === "files") file = value;
    return append.call(this, name, value);
  };
  await task();
  FormData.prototype.append = append;
  const bytes = new Uint8Array(await file.arrayBuffer());
  return [file.name, btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""))];
};
"""
# Finds words that are broken over two lines, and elements that are outside the window.
LAYOUT = r"""
const broken = [];
const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (nodes.nextNode()) {
  for (const { 0: word, index } of nodes.currentNode.data.matchAll(/[^\s-]+/g)) {
    const range = document.createRange();
    range.setStart(nodes.currentNode, index);
    range.setEnd(nodes.currentNode, index + word.length);
    const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
    if (new Set(tops).size > 1) broken.push(word);
  }
}
const { scrollWidth, clientWidth } = document.documentElement;
const outside = [...document.body.querySelectorAll("*")].filter(
  (part) => part.getBoundingClientRect().right > clientWidth + 1).map((part) => part.outerHTML);
return { broken, outside, wider: scrollWidth - clientWidth };
"""
UNLABELED = """
return [...document.querySelectorAll("input, select, button, img, canvas, progress")].filter(
  (part) => !(part.labels && part.labels.length) && !part.innerText && !part.alt &&
    !part.ariaLabel && part.checkVisibility()).map((part) => part.outerHTML);
"""


class Switch:
    """ASGI application that forwards requests to one of several applications.

    Attributes:
        name: Name of the application that handles requests.
    """

    def __init__(self, applications):
        self.applications, self.name = applications, next(iter(applications))

    async def __call__(self, scope, receive, send):
        await self.applications[self.name](scope, receive, send)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    with galleries.Gallery(tmp_path_factory.mktemp("walks") / "family.db", "watch_lda") as opened:
        yield opened


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    signal = keras.Input((None, 1))
    declared = InputContract(["sound"], "[-1, 1]", SOUND_HZ, min_steps=100)(signal)
    model = keras.Model(signal, QuantileLayer(6)(keras.layers.Identity()(declared)), name="voice")
    with galleries.Gallery(tmp_path_factory.mktemp("voices") / "family.db", model) as opened:
        yield opened


@pytest.fixture(scope="module")
def switch(people, voices):
    scores = settings.Settings(host=NAME, scores=True)
    claims = settings.Settings(host=NAME, tokens=tokens.Tokens([FULL], [VERIFY]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "SECONDS", 300)  # other tests may keep all processors busy
        yield Switch(
            {
                "walks": app.application(people, scores),
                "voices": app.application(voices, scores),
                "claims": app.application(people, claims),
            }
        )


@pytest.fixture(scope="module")
def address(switch):
    with listening.to("127.0.0.1", 0) as listener:
        server = listening.server(switch)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listening.address(listener)
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def tone(tmp_path_factory):
    """Writes a WAV file that Chromium plays as its microphone."""
    path = tmp_path_factory.mktemp("tone") / "tone.wav"
    values = np.sin(2 * np.pi * TONE_HZ * np.arange(MICROPHONE_HZ) / MICROPHONE_HZ)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(MICROPHONE_HZ)
        file.writeframes((16_000 * values).astype("<i2").tobytes())
    return path


@pytest.fixture(scope="module")
def browser(tone):
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    options = (
        f"--host-resolver-rules=MAP {NAME} 127.0.0.1",
        "--use-fake-device-for-media-stream",
        "--use-fake-ui-for-media-stream",
        f"--use-file-for-fake-audio-capture={tone}",
    )
    with Browser(WIDTHS[0], options) as opened:
        yield opened


@pytest.fixture
def act(browser, address, switch):
    """Returns a function that runs scripts on the page of a gallery of walks."""
    switch.name = "walks"
    return open_page(browser, address)


def open_page(browser, address):
    browser.open(address)
    browser.complaints.clear()

    def run(body):
        return browser.run(SCRIPT + body)

    run("await idle();")
    return run


def walk(person, number):
    """Returns rows `[milliseconds, x, y, z]` of a walk from the package."""
    path = _demo.WALKS / person / f"{number:02}.csv"
    return np.loadtxt(path, delimiter=",", skiprows=1).tolist()


def record(act, rows):
    """Simulates the sensors of a device during a walk, and records the walk without its last
    incomplete second.
    """
    seconds = int(rows[-1][0] // 1000)
    act(f"await start({seconds}); move({json.dumps(rows)}); await idle();")
    return seconds


def check_layout(browser):
    for width in WIDTHS:
        browser.resize(width)
        assert browser.run(LAYOUT) == {"broken": [], "outside": [], "wider": 0}
        assert browser.run(UNLABELED) == []
    browser.resize(WIDTHS[0])


def test_the_sensor_follows_from_the_model():
    axes = ("x", "y", "z")
    cases = [
        ("microphone", ["sound"], "[-1, 1]", 16_000),
        ("accelerometer", axes, "m/s2", 50),
        ("accelerometer", ["acc_Z", "acc_X", "acc_Y"], "g", 100),
        ("accelerometer", ["Acceleration x", "Acceleration y", "Acceleration z"], "m/s²", 25),
        ("linear-acceleration", [f"Linear Acceleration {axis}" for axis in axes], "m/s^2", 50),
        ("linear-acceleration", [f"userAcceleration{axis}" for axis in "XYZ"], "g", 50),
        ("accelerometer-gyroscope", [*axes, *axes], 3 * ["g"] + 3 * ["deg/s"], 50),
        (None, [*axes, *axes], 3 * ["rad/s"] + 3 * ["m/s2"], 50),
        (None, [*axes, "x"], "m/s2", 50),
        (None, axes, "rad/s", 50),
        (None, axes, "as recorded", 50),
        (None, axes, "m/s2", None),
        (None, ["x", "y"], "m/s2", 50),
        (None, ["LAX", "LAY", "LAZ", "RAX", "RAY", "RAZ"], "g", 100),
        (None, ["sound", "noise"], "[-1, 1]", 16_000),
    ]
    for sensor, channels, units, rate_hz in cases:
        assert sensors.sensor(Contract(channels, units, rate_hz)) == sensor, (channels, units)
    assert sensors.sensor(None) is None


@pytest.mark.slow
def test_people_enroll_by_walking_and_a_stranger_is_rejected(act, browser, address, switch, people):
    for name, person in WALKERS.items():
        for number in range(1, ENROLLED + 1):
            record(act, walk(person, number))
        answer = act(f"by('person').value = {name!r}; return await click('enroll');")
        assert answer == f"{name} is enrolled", act("return by('notes').innerText;")
        progress = act("return by('progress-of').innerText;")
        assert f"{ENROLLED} recordings" in progress and "One more walk on another day" in progress
        check_layout(browser)
    assert people.people() == {"Alexandra": ENROLLED, "ben": ENROLLED}

    rows = walk(WALKERS["ben"], 7)
    seconds = record(act, rows)
    act("by('person').value = 'ben';")
    name, content = act("return sent(() => click('verify'));")
    assert act("return by('answer').innerText;") == "Accepted: it is ben"
    assert act("await by('picture').decode(); return by('picture').naturalWidth;") > 100
    check_layout(browser)
    header, *lines = base64.b64decode(content).decode().splitlines()
    assert name.endswith(".csv") and header == "time_ms,x (m/s2),y (m/s2),z (m/s2)"
    table = np.array([line.split(",") for line in lines], float)
    np.testing.assert_allclose(table, rows[: len(table)], rtol=0, atol=1e-4)
    assert seconds <= table[-1, 0] / 1000 < seconds + 0.1

    record(act, walk(STRANGER, 3))
    assert act("return by('chosen').children.length;") == 1  # the decided walk is removed
    assert act("by('person').value = 'ben'; return await click('verify');") == "Rejected: not ben"
    assert act("return await click('identify');") == "A stranger"
    check_layout(browser)
    assert browser.complaints == []

    switch.name = "claims"
    act = open_page(browser, address)
    act(f"by('token').value = {VERIFY.decode()!r}; by('access').requestSubmit(); await idle();")
    hidden = "['access', 'gallery', 'identify', 'enroll'].map((id) => by(id).checkVisibility())"
    assert act(f"return {hidden};") == 4 * [False]
    record(act, rows)
    assert act("by('person').value = 'ben'; return await click('verify');") == "Accepted: it is ben"
    assert act("return by('scores').children.length;") == 0
    assert act("return by('why').checkVisibility();") is False
    check_layout(browser)


@pytest.mark.slow
def test_recordings_are_listed_by_day_until_there_are_two(browser, address, switch, people):
    switch.name = "walks"
    days = {"ben": (2, 2, 2), "Alexandra": (2, 2, 9), "Zoë": (2,)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "people", lambda: {name: len(each) for name, each in days.items()})
        patch.setattr(
            people,
            "list_recordings",
            lambda name: [
                galleries.StoredRecording(
                    str(day), f"2026-01-{day:02}T12:00:00+00:00", galleries.Source(str(day))
                )
                for day in days[name]
            ],
        )
        act = open_page(browser, address)
        texts = act("""
          const people = [...by("people").children];
          for (const row of people) {
            row.querySelector("summary").click();
            await wait(() => row.querySelector(".days"));
          }
          await idle();
          return people.map((row) => row.innerText);
        """)
    ben, alexandra, zoe = (" ".join(text.split()) for text in texts)
    assert "Fri, Jan 2, 2026 3 recordings" in ben and "One more walk on another day" in ben
    assert "Fri, Jan 2, 2026 2 recordings" in alexandra
    assert "Fri, Jan 9, 2026 1 recording" in alexandra and "another day" not in alexandra
    assert "1 recording" in zoe and "another day" not in zoe
    check_layout(browser)


@pytest.mark.slow
def test_the_motion_sensors_of_the_device_reach_the_page(act, browser):
    readings = {"xyz": {"x": 1, "y": 2, "z": 9}}
    for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
        browser.call("Emulation.setSensorOverrideEnabled", enabled=True, type=kind, metadata={})
        browser.call("Emulation.setSensorOverrideReadings", type=kind, reading=readings)
    act("await start(1); await idle();")
    _, content = act("return sent(() => click('identify'));")
    _, *lines = base64.b64decode(content).decode().splitlines()
    assert len(lines) > 10 and lines[5].split(",")[1:] == ["1.0000", "2.0000", "9.0000"]
    for kind in ("accelerometer", "linear-acceleration", "gyroscope"):
        browser.call("Emulation.setSensorOverrideEnabled", enabled=False, type=kind)


@pytest.mark.slow
def test_angular_rates_are_recorded_in_radians_per_second(act, browser):
    """Compares the rows with the readings of an emulated gyroscope, whose axes Chromium maps."""
    readings = {"accelerometer": (1, 2, 9), "linear-acceleration": (1, 2, 0)}
    readings["gyroscope"] = (0.25, -0.5, 0.75)
    for kind, values in readings.items():
        reading = {"xyz": dict(zip("xyz", values, strict=True))}
        browser.call("Emulation.setSensorOverrideEnabled", enabled=True, type=kind, metadata={})
        browser.call("Emulation.setSensorOverrideReadings", type=kind, reading=reading)
    rows = act("""
      const { recordMotion } = await import("./sensors.js");
      const { signal } = new AbortController();
      const axes = ["x", "y", "z", "x", "y", "z"];
      return recordMotion(axes, "accelerometer-gyroscope", 0.3, () => {}, signal);
    """)
    for kind in readings:
        browser.call("Emulation.setSensorOverrideEnabled", enabled=False, type=kind)
    assert len(rows) > 3
    np.testing.assert_allclose(rows[-1][1:], [1, 2, 9, 0.25, -0.5, 0.75], rtol=0, atol=2e-3)
    content = act("""
      const { csv } = await import("./formats.js");
      return csv([[0, 1, 2, 9, 0.25, -0.5, 0.75]], ["a", "b", "c", "d", "e", "f"]).text();
    """)
    assert content.splitlines() == [
        "time_ms,a (m/s2),b (m/s2),c (m/s2),d (rad/s),e (rad/s),f (rad/s)",
        "0.0,1.0000,2.0000,9.0000,0.2500,-0.5000,0.7500",
    ]


def test_a_recording_is_canceled_and_a_silent_sensor_is_named(act):
    escape = "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))"
    for cancel in ("by('cancel').click()", escape):
        act(f"await start(5); move([[0, 1, 2, 9]]); {cancel}; await idle();")
        assert act("return by('state').innerText;") == "The recording was canceled."
        assert act("return by('chosen').children.length;") == 0
    act("by('seconds').value = 61;")
    assert act("await click('record'); return by('detail').innerText;").startswith("Seconds must")
    act("await start(5); await idle();")
    assert act("return by('answer').innerText;") == "No recording"
    assert "sent nothing" in act("return by('detail').innerText;")


def test_the_keyboard_reaches_every_control(act, browser):
    key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
    order = ["seconds", "delay", "record", "files", "person", "identify", "verify", "enroll"]
    for name in order:
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, **key)
        assert act("return document.activeElement.id;") == name
        visible = "by('drop')" if name == "files" else "document.activeElement"
        assert act(f"return getComputedStyle({visible}).outlineStyle;") == "solid"
    act("by('person').focus();")
    enter = {"key": "Enter", "windowsVirtualKeyCode": 13}
    browser.call("Input.dispatchKeyEvent", type="keyDown", text="\r", **enter)
    browser.call("Input.dispatchKeyEvent", type="keyUp", **enter)
    act("await wait(() => by('result').checkVisibility()); await idle();")
    assert act("return by('detail').innerText;").startswith("Enter the name")


def test_the_page_asks_ios_for_permission_to_use_motion_sensors(act):
    ask = "let count = 0; DeviceMotionEvent.requestPermission = async () => (count += 1, '{}');"
    denied = act(ask.format("denied") + "await click('record'); return by('detail').innerText;")
    assert "not allowed" in denied
    rows = walk(STRANGER, 1)
    act(f"{ask.format('granted')} await start(1); move({json.dumps(rows)}); await idle();")
    assert act("return by('chosen').children.length;") == 1


def test_sound_is_recorded_at_the_rate_of_the_model(browser, address, switch, voices):
    switch.name = "voices"
    act = open_page(browser, address)
    assert act("return by('record').innerText;") == "Record speech"
    act("await start(1); await idle(); by('person').value = 'ben';")
    name, content = act("return sent(() => click('enroll'));")
    assert voices.people() == {"ben": 1} and name.endswith(".wav")
    with wave.open(io.BytesIO(base64.b64decode(content))) as file:
        assert file.getparams()[:4] == (1, 2, SOUND_HZ, SOUND_HZ)
        values = np.frombuffer(file.readframes(SOUND_HZ), "<i2") / 2**15
    spectrum = np.abs(np.fft.rfft(values * np.hanning(SOUND_HZ)))
    assert abs(spectrum.argmax() - TONE_HZ) <= 1  # the bins are 1 Hz wide
    assert spectrum[TONE_HZ - 5 : TONE_HZ + 6].max() > 100 * np.median(spectrum)
    assert values.std() > 0.05
    check_layout(browser)
    assert browser.complaints == []


def test_a_page_without_a_secure_context_explains_why_it_cannot_record(browser, address, switch):
    for name, sensor in (("walks", "motion sensors"), ("voices", "microphone")):
        switch.name = name
        act = open_page(browser, address.replace("127.0.0.1", NAME))
        assert act("return [isSecureContext, by('record').checkVisibility()];") == [False, False]
        text = act("return by('insecure').innerText;")
        assert sensor in text and "HTTPS" in text
        check_layout(browser)
        act = open_page(browser, address)
        assert act("return [isSecureContext, by('insecure').checkVisibility()];") == [True, False]


@pytest.mark.slow
def test_the_page_follows_the_preferred_colors(act, browser):
    colors = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.call("Emulation.setEmulatedMedia", features=features)
        colors.append(act("return getComputedStyle(document.body).backgroundColor;"))
    browser.call("Emulation.setEmulatedMedia", features=[])
    light, dark = (int(color.split("(")[1].split(",")[0]) for color in colors)
    assert light > 200 and dark < 60


@pytest.mark.slow
def test_the_policies_let_only_the_page_itself_use_sensors(switch):
    from starlette.testclient import TestClient

    client = TestClient(switch.applications["walks"], base_url="http://127.0.0.1")
    policy = client.get("/").headers["permissions-policy"].split(", ")
    assert {"microphone=(self)", "accelerometer=(self)", "gyroscope=(self)"} <= {*policy}
    assert all(feature.endswith(("=(self)", "=()")) for feature in policy)
