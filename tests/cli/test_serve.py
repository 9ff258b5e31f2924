"""Tests that the server responds correctly, refuses invalid requests and reveals no secrets."""

import concurrent.futures
import gzip
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import numpy as np
import pytest
from starlette.testclient import TestClient

from export.browser import Browser
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.gallery.server import app, guard, listening, logs, settings, tokens, uploads
from keras_dml.layers import InputContract, QuantileLayer

HERE = "http://127.0.0.1:8000"
TOKEN = b"0123456789abcdef"
LOCAL = settings.Settings()
WITH_TOKEN = settings.Settings(tokens=tokens.Tokens([TOKEN]), scores=True)
WITH_SCORES = settings.Settings(scores=True)
PEOPLE = 40
NAMES = ("alice", "bob/<b>&")
RATE_HZ, STEPS = 50, 40
FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9"},
    {"Origin": "file://127.0.0.1:8000"},
    {"Sec-Fetch-Site": "same-site"},
)


def walk(person, seed=0, header="t,x (g),y (g),z (g)", steps=STEPS):
    """Returns a walk as bytes of a CSV file. People differ in the levels of the channels."""
    rng = np.random.default_rng([*person.encode(), seed])
    level = np.random.default_rng([*person.encode()]).normal(scale=10, size=3)
    times = np.arange(steps)[:, None] / RATE_HZ
    rows = np.hstack([times, rng.normal(level, 1, (steps, 3))])
    return "\n".join(
        [header, *(",".join(f"{entry:.4f}" for entry in row) for row in rows)]
    ).encode()


def files(*contents, name="new.csv"):
    return [("files", (name, content)) for content in contents]


@pytest.fixture(scope="module")
def model():
    signal = keras.Input((None, 3))
    inputs = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
    return keras.Model(signal, QuantileLayer(6)(keras.layers.Identity()(inputs)), name="phone")


@pytest.fixture(scope="module")
def calibrated(model, tmp_path_factory):
    """Creates a gallery with a calibrated threshold and without people. Returns its path."""
    path = tmp_path_factory.mktemp("calibrated") / "family.db"
    with galleries.Gallery(path, model) as opened:
        rng = np.random.default_rng(0)
        levels = rng.normal(scale=10, size=(PEOPLE, 1, 3))
        volunteers = [rng.normal(level, 1, (STEPS, 3)) for level in levels for _ in range(2)]
        opened.calibrate(volunteers, np.repeat(np.arange(PEOPLE), 2), far=0.02)
    return path


@pytest.fixture
def gallery(model, calibrated, tmp_path):
    path = tmp_path / "secret-folder" / "family.db"
    path.parent.mkdir()
    shutil.copy(calibrated, path)
    with galleries.Gallery(path, model) as opened:
        yield opened


@pytest.fixture
def client(gallery):
    return TestClient(app.application(gallery, LOCAL), base_url=HERE)


@pytest.fixture
def family(client):
    for name in NAMES:
        answer = post(client, name, "recordings", *(walk(name, i) for i in range(3)))
        assert answer.json()["enrolled"] == 3
    return client


def post(client, person, what, *contents, **fields):
    path = f"/people/{urllib.parse.quote(person, safe='')}/{what}"
    return client.post(path, files=files(*contents), data=fields)


@pytest.mark.slow
def test_people_are_enrolled_listed_and_removed(family):
    assert family.get("/people").json() == [{"person": name, "recordings": 3} for name in NAMES]
    removed = family.delete(f"/people/{urllib.parse.quote(NAMES[1], safe='')}")
    assert removed.json() == {"removed": NAMES[1], "people": 1}
    assert family.get("/people").json() == [{"person": "alice", "recordings": 3}]


@pytest.mark.slow
def test_a_file_that_is_sent_twice_counts_once(family, gallery):
    copy = walk("alice", 9) + b"\n"
    result = post(family, "alice", "recordings", walk("alice", 9), copy, walk("alice", 0)).json()
    assert result["enrolled"] == 4 and len(result["kept"]) == 1 and not result["refused"]
    assert [entry["of"] for entry in result["repeated"]] == [result["kept"][0], None]
    result = post(family, NAMES[1], "recordings", copy).json()
    assert not result["kept"] and result["enrolled"] == 3
    (refused,) = result["refused"]
    assert "'alice'" in refused["reason"] and NAMES[1] in refused["reason"]
    gallery._records.add(NAMES[1], gallery._templates().enrolled_of("alice"))
    sent = files(walk("alice", 9))
    result = family.post("/identify", files=sent).json()
    assert result["person"] is None and result["tied"] == sorted(NAMES)


@pytest.mark.slow
def test_the_server_decides_like_the_gallery(family, gallery):
    for person in NAMES:
        result = post(family, "alice", "verify", walk(person, 9)).json()
        values = np.loadtxt(io.BytesIO(walk(person, 9)), delimiter=",", skiprows=1)[:, 1:]
        expected = gallery.verify("alice", values)
        assert result["accepted"] == expected.accepted == (person == "alice")
        assert result["threshold"] == expected.threshold


def test_a_person_is_identified_and_a_stranger_rejected(family):
    result = family.post("/identify", files=files(walk(NAMES[1], 9)), data={"top": "1"}).json()
    assert (result["person"], result["people"], result["fpir"]) == (NAMES[1], 2, 0.04)
    assert result["candidates"] == []
    assert family.post("/identify", files=files(walk("nobody"))).json()["person"] is None


@pytest.mark.slow
def test_thresholds_are_listed_and_selected_by_rate(family, gallery):
    (messages,) = family.get("/thresholds").json()
    assert (messages["far"], messages["value"]) == (0.02, gallery.thresholds[0.02].value)
    assert post(family, "alice", "verify", walk("alice"), far="0.02").json()["accepted"]
    assert messages["extrapolated"] is False
    result = post(family, "alice", "verify", walk("alice")).json()
    assert (result["far"], result["extrapolated"]) == (0.02, False)


@pytest.mark.slow
def test_arrays_tables_and_their_rates_are_read(family):
    array = io.BytesIO()
    np.save(array, np.loadtxt(io.BytesIO(walk("alice", 9)), delimiter=",", skiprows=1)[:, 1:])
    sent = files(array.getvalue(), name="new.npy")
    result = family.post("/people/alice/verify", files=sent).json()
    assert result["accepted"] and any("Set `rate_hz`" in note for note in result["notes"])
    result = family.post("/people/alice/verify", files=sent, data={"rate_hz": "50"}).json()
    assert not any("rate" in note for note in result["notes"])
    lines = walk("alice", 9, steps=80).splitlines()
    time, _, values = lines[20].partition(b",")
    uneven = b"\n".join([*lines[:20], b"%.4f,%b" % (float(time) + 0.018, values), *lines[21:]])
    refused = post(family, "alice", "verify", uneven)
    assert refused.status_code == 422 and "`resample`" in refused.json()["error"]
    assert post(family, "alice", "verify", uneven, resample="true").json()["accepted"]
    second = walk("alice", 9, header="t,ax,ay,az")
    assert post(family, "alice", "verify", second, channels="ax,ay,az").json()["accepted"]
    gap = b"\n".join([*lines[:31], *lines[60:]])
    result = post(family, "alice", "verify", gap).json()
    assert any("cut at 1 long gap" in note for note in result["notes"])
    clock = walk("alice", 9, header="foo,x (g),y (g),z (g)")
    asked = post(family, "alice", "verify", clock).json()["notes"]
    assert any("set `time` to 'foo'" in note for note in asked)
    result = post(family, "alice", "verify", clock, time="foo", time_unit="s", max_gap="1").json()
    assert result["accepted"] and result["notes"] == []
    for name, value in (("time", "bar"), ("time_unit", "h"), ("max_gap", "-1"), ("max_gap", "x")):
        assert post(family, "alice", "verify", clock, **{name: value}).status_code == 422


@pytest.mark.slow
def test_recordings_that_do_not_fit_are_refused_by_name(family):
    good, short, strange = walk("alice", 7), walk("alice", steps=5), walk("nobody")
    sent = [
        ("files", (name, content))
        for name, content in {"a.csv": good, "b.csv": short, "c.csv": strange}.items()
    ]
    result = family.post("/people/alice/recordings", files=sent).json()
    assert (result["kept"], result["enrolled"]) == (["a.csv"], 4)
    reasons = {entry["file"]: entry["reason"] for entry in result["refused"]}
    assert reasons["b.csv"].startswith("b.csv has 5 steps")
    assert reasons["c.csv"].startswith("c.csv: its distance ")
    assert "the nearest other recording of 'alice'" in reasons["c.csv"]


@pytest.mark.slow
def test_a_decision_is_explained_by_a_picture(family, gallery):
    assert post(family, "alice", "explanation", walk(NAMES[1], 9)).status_code == 403
    client = TestClient(app.application(gallery, WITH_SCORES), base_url=HERE)
    answer = post(client, "alice", "explanation", walk(NAMES[1], 9))
    assert answer.headers["content-type"] == "image/svg+xml" and b"<svg" in answer.content


@pytest.mark.slow
def test_a_person_is_renamed(family):
    answer = family.patch("/people/alice", json={"name": "Alice B."})
    assert answer.json() == {"renamed": "alice", "name": "Alice B."}
    assert "Alice B." in [entry["person"] for entry in family.get("/people").json()]
    assert family.patch("/people/alice", json={"name": "x"}).status_code == 404
    assert family.patch("/people/Alice%20B.", json={"name": NAMES[1]}).status_code == 422
    assert family.patch("/people/Alice%20B.", json={"name": "a\nb"}).status_code == 422


@pytest.mark.slow
def test_recordings_are_marked_as_not_of_a_person(family):
    assert post(family, "alice", "verify", walk("alice", 9)).json()["accepted"]
    assert post(family, "alice", "rejections", walk("alice", 9)).json()["marked"] == 1
    assert not post(family, "alice", "verify", walk("alice", 9)).json()["accepted"]
    (mark,) = family.get("/people/alice/rejections").json()
    assert family.delete(f"/people/alice/rejections/{mark['id']}").json()["marked"] == 0
    assert post(family, "alice", "verify", walk("alice", 9)).json()["accepted"]
    assert family.delete(f"/people/alice/rejections/{mark['id']}").status_code == 404
    assert family.get("/people").json()[0] == {"person": "alice", "recordings": 3}


def volunteers(steps=STEPS):
    people = [f"volunteer {i}" for i in range(PEOPLE) for _ in range(2)]
    return people, [walk(name, i, steps=steps) for i, name in enumerate(people)]


@pytest.mark.slow
def test_a_threshold_is_set_by_recordings_of_people(family, gallery):
    people, walks = volunteers()
    result = family.post("/calibration", files=files(*walks), data={"people": people, "far": 0.1})
    assert result.json()["threshold"]["far"] == 0.1 and result.json()["boundary"] is None
    assert gallery.thresholds[0.1].value == result.json()["threshold"]["value"]
    few = family.post("/calibration", files=files(*walks), data={"people": people[:-1]})
    assert few.status_code == 422 and "80 recordings" in few.json()["error"]


@pytest.mark.slow
def test_a_claim_is_listened_to_over_requests(family, gallery):
    # The gallery has no decision threshold for `listen`.
    assert post(family, "alice", "listen", walk("alice", 9)).status_code == 422
    people, walks = volunteers(steps=80)
    fields = {"people": people, "far": 0.1, "window": 0.4}
    result = family.post("/calibration", files=files(*walks), data=fields).json()
    assert result["boundary"]["window"] == 20 and result["threshold"] is None
    for person, answer in (("alice", True), ("nobody", False)):
        rows = np.loadtxt(io.BytesIO(walk(person, 9, steps=80)), delimiter=",", skiprows=1)[:, 1:]
        pieces = [
            {"recordings": [rows[i : i + 15].tolist()], "rate_hz": 50} for i in range(0, 80, 15)
        ]
        heard = family.post("/people/alice/listen", json=pieces[0]).json()
        assert heard["accepted"] is None and heard["steps"] == 0 and heard["closeness"] is None
        path = f"/listening/{heard['id']}"
        for piece in pieces[1:]:
            heard = family.post(path, json=piece).json()
            if heard["accepted"] is not None:
                break
        assert heard["accepted"] is answer and heard["id"] is None
        assert family.post(path, json=pieces[0]).status_code == 404


def test_parallel_requests_are_answered(family, gallery):
    def enrolled_or_verified(seed):
        what = ("recordings", "verify")[seed % 2]
        return post(family, "alice", what, walk("alice", seed)).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {*pool.map(enrolled_or_verified, range(10, 26))} == {200}
    assert gallery.people()["alice"] == 3 + 8


@pytest.mark.slow
def test_the_interface_describes_itself(family):
    described = family.get("/openapi.json").json()
    assert {*described["paths"]} == {
        "/model",
        "/people",
        "/people/{person}",
        "/people/{person}/recordings",
        "/people/{person}/verify",
        "/people/{person}/listen",
        "/listening/{number}",
        "/people/{person}/explanation",
        "/people/{person}/rejections",
        "/people/{person}/rejections/{recording}",
        "/identify",
        "/thresholds",
        "/calibration",
        "/healthz",
        "/readyz",
        "/metrics",
    }
    fields = described["components"]["schemas"]["Decision"]["properties"]
    assert {"accepted", "closeness", "threshold"} <= {*fields}
    sent = described["paths"]["/people/{person}/verify"]["post"]["requestBody"]["content"]
    assert {"files", "far", "rate_hz"} <= {*sent["multipart/form-data"]["schema"]["properties"]}
    assert {"recordings", "far"} <= {*sent["application/json"]["schema"]["properties"]}
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"


@pytest.mark.parametrize(
    ("request_", "status", "message"),
    [
        (("alice", "verify", b"x,y,z\n1,2\n"), 422, "new.csv, line 2 has 2 fields"),
        (("alice", "verify", b""), 422, "new.csv is empty"),
        (
            ("nobody", "verify", walk("alice")),
            404,
            "Nobody named 'nobody' is enrolled in family.db",
        ),
        (("two\nlines", "recordings", walk("alice")), 404, "Not Found"),
        (("bell\a", "recordings", walk("alice")), 422, "must be a name of 1 to 200"),
        ((200 * "long", "recordings", walk("alice")), 422, "must be a name of 1 to 200"),
    ],
)
def test_errors_do_not_contain_paths_of_the_server(family, tmp_path, request_, status, message):
    answer = post(family, *request_)
    assert answer.status_code == status and message in answer.json()["error"]
    for messages in ("secret-folder", str(tmp_path), "/tmp", "Traceback"):
        assert messages not in answer.text


@pytest.mark.slow
def test_invalid_requests_are_refused(family):
    assert "far" in post(family, "alice", "verify", walk("alice"), far="often").json()["error"]
    assert (
        "must be a rate that was calibrated"
        in (post(family, "alice", "verify", walk("alice"), far="0.5").json()["error"])
    )
    assert "files" in family.post("/identify", data={"top": "1"}).json()["error"]
    assert family.post("/people/alice/verify", content=b"{").status_code == 422
    assert family.get("/nothing").json() == {"error": "Not Found"}
    assert family.delete("/people").status_code == 405


@pytest.mark.parametrize(
    "name", ["../../etc/x.csv", "..\\x.csv", "a\r\nb: c.csv", 999 * "n" + ".csv"]
)
def test_the_name_of_a_sent_file_is_not_a_path(family, name):
    answer = family.post("/identify", files=files(b"x\n", name=name))
    assert answer.status_code == 422
    assert len(answer.json()["error"]) < 500 and "etc" not in answer.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.keras", "page.html", "csv", "x.csv.exe"])
def test_files_of_other_formats_are_refused(family, name):
    answer = family.post("/identify", files=files(walk("alice"), name=name))
    assert answer.status_code == 422 and "files that end in .csv" in answer.json()["error"]


def test_sent_files_are_removed(family, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads.tempfile, "tempdir", str(tmp_path / "sent"))
    (tmp_path / "sent").mkdir()
    for content in (walk("alice"), b"no recording"):
        family.post("/identify", files=files(content))
    assert not [*(tmp_path / "sent").iterdir()]


@pytest.mark.slow
def test_too_large_requests_are_refused(family):
    large = files(b"0" * (guard.MOST_BYTES + 1))
    assert family.post("/identify", files=large).status_code == 413
    chunks = (b"0" * 10**6 for _ in range(guard.MOST_BYTES // 10**6 + 1))
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = family.post("/identify", content=_parts(chunks), headers=form)
    assert answer.status_code == 413 and "20 MB" in answer.json()["error"]
    many = files(*(uploads.MOST_FILES + 1) * [walk("alice")])
    assert "Received 21 files. Send 1 to 20" in family.post("/identify", files=many).text


def _parts(chunks):
    yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    yield from chunks
    yield b"\r\n--x--\r\n"


@pytest.mark.slow
def test_a_small_file_of_many_numbers_is_refused_before_it_is_unpacked(family):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def sent(**columns):
        file = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), file)
        return family.post("/identify", files=files(file.getvalue(), name="a.parquet"))

    zeros = np.zeros(5 * 10**6 // 3 + 1, np.int8)
    assert "more than 5,000,000 numbers" in sent(x=zeros, y=zeros, z=zeros).json()["error"]
    answer = sent(x=["a"], y=[0.0], z=[0.0])
    assert answer.status_code == 422 and "'x'" in answer.json()["error"]
    fitting = {name: np.random.default_rng(0).normal(size=STEPS) for name in "xyz"}
    assert sent(**fitting).status_code == 200


@pytest.mark.slow
def test_compressed_text_is_read_up_to_a_size(family):
    packed = gzip.compress(walk("alice"))
    answer = family.post("/identify", files=files(packed, name="a.csv.gz"))
    assert answer.status_code == 200 and answer.json()["person"] == "alice"
    bomb = gzip.compress(bytes(2**26 + 1))
    answer = family.post("/identify", files=files(bomb, name="a.csv.gz"))
    assert "more than 64 MiB after decompression" in answer.json()["error"]


@pytest.mark.slow
def test_a_small_flac_file_of_many_samples_is_refused_before_it_is_decoded(family):
    soundfile = pytest.importorskip("soundfile")
    file = io.BytesIO()
    silence = np.zeros(20 * 10**6 + 1, np.int16)
    soundfile.write(file, silence, RATE_HZ, format="FLAC", subtype="PCM_16")
    answer = family.post("/identify", files=files(file.getvalue(), name="a.flac"))
    assert "more than 20,000,000 numbers" in answer.json()["error"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "10.0.0.1", "["])
def test_other_host_names_are_refused(family, host):
    """The host name of an attacker may resolve to this machine (DNS rebinding)."""
    answer = family.get("/people", headers={"Host": host})
    assert answer.status_code == 421 and "alice" not in answer.text


@pytest.mark.slow
@pytest.mark.parametrize("host", ["localhost:8000", "[::1]:8000", "127.0.0.1:9000", "LOCALHOST"])
def test_host_names_of_the_server_are_accepted(family, host):
    assert family.get("/people", headers={"Host": host}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_are_refused(family, headers):
    answer = family.post("/people/alice/recordings", files=files(walk("alice")), headers=headers)
    assert answer.status_code == 403
    assert family.delete("/people/alice", headers=headers).status_code == 403
    assert family.get("/people").json()[0] == {"person": "alice", "recordings": 3}
    assert family.get("/people", headers={"Origin": HERE}).status_code == 200


@pytest.mark.slow
def test_requests_of_a_proxy_without_an_origin_are_accepted(gallery):
    """Tests the headers that Caddy and nginx send if they are configured as documented."""
    proxied = {"Host": "127.0.0.1", "X-Forwarded-Host": "people.example.org"}
    authorization = {"Authorization": f"Bearer {TOKEN.decode()}"}
    client = TestClient(app.application(gallery, WITH_TOKEN), base_url=HERE)

    def status(**headers):
        return client.get("/people", headers=proxied | headers).status_code

    same_origin, foreign = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}
    assert status(**authorization, **same_origin) == status(**authorization) == 200
    assert status(**authorization, **foreign) == 403
    assert status(**same_origin) == 401


@pytest.mark.slow
def test_servers_share_a_gallery(family, gallery, model):
    with galleries.Gallery(gallery.path, model) as copy:
        second = TestClient(app.application(copy, LOCAL), base_url=HERE)
        assert second.post("/identify", files=files(walk("carol"))).json()["person"] is None
        post(family, "carol", "recordings", *(walk("carol", i) for i in range(3)))
        assert second.post("/identify", files=files(walk("carol"))).json()["person"] == "carol"
        assert second.delete("/people/carol").status_code == 200
        assert post(family, "carol", "verify", walk("carol")).status_code == 404


@pytest.mark.slow
def test_a_server_with_tokens_requires_a_token(gallery, monkeypatch):
    anywhere = settings.Settings(host="0.0.0.0", tokens=tokens.Tokens([TOKEN]))
    client = TestClient(app.application(gallery, anywhere), base_url="http://10.0.0.1:80")
    compared = []
    compare_digest = tokens.hmac.compare_digest
    monkeypatch.setattr(
        tokens.hmac, "compare_digest", lambda *pair: compared.append(pair) or compare_digest(*pair)
    )
    right = f"Bearer {TOKEN.decode()}"
    for header in (
        None,
        "Bearer",
        "Bearer \u00e9",
        right.replace("Bearer", "Basic"),
        f"{right}0",
    ):
        headers = {} if header is None else {"Authorization": header.encode("latin-1")}
        answer = client.get("/people", headers=headers)
        assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert len(compared) == 5  # each token was compared in constant time
    authorization = {"Authorization": right}
    assert client.get("/people", headers=authorization).json() == []
    assert client.get("/").status_code == client.get("/openapi.json").status_code == 200
    assert (
        client.get("/people", headers={**authorization, "Host": "evil.example"}).status_code == 421
    )


def test_every_answer_has_security_headers(family):
    for path in ("/", "/docs", "/page.js", "/people", "/nothing", "/openapi.json"):
        answer = family.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers
    for path in app.STATIC:
        assert not re.search(
            r"https?://(?!127\.0\.0\.1)|style=|onclick|innerHTML", family.get(path).text
        )


def line(record):
    return json.loads(logs.JsonLines().format(record))


def test_logs_have_no_names_and_unexpected_errors_no_details(family, gallery, monkeypatch):
    lines = []
    monkeypatch.setattr(logs.LOGGER, "handle", lambda record: lines.append(line(record)))

    def failing(*_, **__):
        raise RuntimeError("alice's template is 1.234")

    post(family, "alice", "verify", walk("alice"))
    family.get("/people/alice/elsewhere")
    monkeypatch.setattr(type(gallery), "verify", failing)
    answer = post(family, "alice", "verify", walk("alice"))
    assert answer.status_code == 500 and "1.234" not in answer.text
    first = lines[0]
    assert (first["method"], first["status"], first["level"]) == ("POST", 200, "info")
    assert re.fullmatch(r"/people/\{person(:path)?\}/verify", first["route"])
    assert first["milliseconds"] >= 0 and first["request_id"] and "T" in first["time"]
    assert lines[-1]["request_id"] == lines[-2]["request_id"] == answer.headers["x-request-id"]
    text = json.dumps(lines)
    assert "RuntimeError in" in text and "alice" not in text


@pytest.mark.slow
def test_errors_of_the_gallery_file_are_not_sent(family, gallery, monkeypatch):
    def failing(*_):
        raise OSError("/home/alice/family.db cannot be used: disk I/O error")

    monkeypatch.setattr(type(gallery), "people", failing)
    lines = []
    monkeypatch.setattr(logs.LOGGER, "handle", lambda record: lines.append(line(record)))
    answer = family.get("/people")
    assert answer.status_code == 503 and "alice" not in answer.text
    assert lines[0]["message"].endswith("disk I/O error")


def test_no_answer_contains_an_embedding(family, gallery):
    """No response contains the embeddings, which are quantiles of the recording for this model."""
    numbers = {f"{abs(value):.3f}" for value in gallery._records.templates()[2].ravel()}
    probe = walk("alice", 9)
    messages = [post(family, "alice", what, probe).text for what in ("verify", "recordings")]
    messages += [family.post("/identify", files=files(probe)).text, family.get("/people").text]
    sent = {f"{abs(float(entry)):.3f}" for entry in re.findall(r"-?\d+\.\d+", "".join(messages))}
    assert len(sent & numbers) <= 1  # one number may be equal by chance


@pytest.mark.slow
def test_the_server_listens_only_on_this_machine_without_a_token(command, tmp_path, gallery):
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        code, _, err = command("serve", gallery.path, "--host", host)
        assert code == 2 and "--token-file FILE" in err
    short = tmp_path / "short.token"
    short.write_text("secret")
    short.chmod(0o600)
    code, _, err = command("serve", gallery.path, "--token-file", short)
    assert code == 2 and "at least 16 letters" in err and "secret'" not in err
    assert "gone.db" in command("serve", tmp_path / "gone.db", "--port", "0")[2]
    with listening.to("127.0.0.1", 0) as busy_socket:
        port = busy_socket.getsockname()[1]
        assert (
            f"Cannot listen at 127.0.0.1, port {port}"
            in (command("serve", gallery.path, "--port", port)[2])
        )


def test_a_missing_extra_is_named(command, gallery, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = command("serve", gallery.path)
    assert code == 2 and 'pip install "keras-dml[serve]"' in err


def test_other_commands_do_not_load_the_server():
    code = "import sys, keras_dml.cli; print({'fastapi', 'uvicorn', 'pydantic'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


@pytest.mark.slow
def test_it_serves_until_it_is_stopped(command, gallery, monkeypatch):
    served = []
    monkeypatch.setattr(listening, "serve", lambda application, listener: served.append(listener))
    from keras_dml.gallery import gallery as gallery_module

    monkeypatch.setattr(
        gallery_module.Gallery,
        "_checked_model",
        lambda self, found: found,  # because the model is not in the zoo
    )
    code, out, _ = command("serve", gallery.path, "--port", "0", "--engine", "keras")
    assert code == 0 and re.fullmatch(r"http://127\.0\.0\.1:\d+/ \(Ctrl-C ends it\)\n", out)
    assert len(served) == 1


@pytest.fixture
def browser():
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    with Browser(width=400) as opened:
        yield opened


@pytest.fixture
def address(gallery):
    with listening.to("127.0.0.1", 0) as listener:
        server = listening.server(app.application(gallery, WITH_TOKEN))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listening.address(listener)
        server.should_exit = True
        thread.join()


ACT = """
const by = (id) => document.getElementById(id);
const wait = async (done) => { while (!done()) await new Promise((go) => setTimeout(go, 20)); };
const put = (...texts) => {
  const data = new DataTransfer();
  texts.forEach((text, i) => data.items.add(new File([text], `${i}.csv`)));
  by("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: data, cancelable: true}));
};
const click = async (id) => {
  by(id).click();
  await wait(() => !document.body.hasAttribute("aria-busy"));
  return by("answer").innerText;
};
"""
UNLABELED = """
return [...document.querySelectorAll("input, select, button, img")].filter(
  (one) => !(one.labels && one.labels.length) && !one.innerText && !one.alt).map((one) => one.id)
"""


@pytest.mark.slow
def test_a_person_drops_a_file_and_sees_a_decision(browser, address, gallery):
    def act(body):
        return browser.run(ACT + body)

    def dropped(*walks):
        return f"put(...{[entry.decode() for entry in walks]!r});"

    browser.open(address)
    act("await wait(() => !by('access').hidden);")
    act(f"by('token').value = {TOKEN.decode()!r}; by('access').requestSubmit();")
    act("await wait(() => by('access').hidden);")

    act(dropped(*(walk(NAMES[1], i) for i in range(3))))
    act(f"by('person').value = {NAMES[1]!r}; await click('enroll');")
    assert gallery.people() == {NAMES[1]: 3}
    assert act("return by('people').innerText").startswith(NAMES[1])

    accepted = act(f"{dropped(walk(NAMES[1], 9))} return await click('verify');")
    assert accepted == f"Accepted: it is {NAMES[1]}"
    assert act("await by('picture').decode(); return by('picture').naturalWidth") > 100
    assert act(f"{dropped(walk('nobody'))} return await click('identify');") == "A stranger"
    text = act("return by('detail').innerText.replaceAll('\\u00a0', ' ')")
    assert "The threshold is for a false accept rate of 2 %. " in text
    fpir = gallery.thresholds[0.02].among(1)
    assert f"up to {100 * fpir:.3g} % of strangers" in text and "FNIR" not in text

    assert act("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert act(UNLABELED) == []
    assert browser.complaints == []
