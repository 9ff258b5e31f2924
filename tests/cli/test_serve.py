"""A gallery served over HTTP: what it answers, what it refuses, and what it never tells."""

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

from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.gallery.server import app, guard, listening, logs, settings, tokens, uploads
from keras_dml.layers import InputContract, QuantileLayer
from tests.cli.browser import Browser

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
    """A walk as the bytes of a CSV file; channels of people lie at other levels."""
    rng = np.random.default_rng([*person.encode(), seed])
    level = np.random.default_rng([*person.encode()]).normal(scale=10, size=3)
    times = np.arange(steps)[:, None] / RATE_HZ
    rows = np.hstack([times, rng.normal(level, 1, (steps, 3))])
    return "\n".join([header, *(",".join(f"{one:.4f}" for one in row) for row in rows)]).encode()


def files(*contents, name="new.csv"):
    return [("files", (name, content)) for content in contents]


@pytest.fixture(scope="module")
def model():
    signal = keras.Input((None, 3))
    taken = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=100)(signal)
    return keras.Model(signal, QuantileLayer(6)(keras.layers.Identity()(taken)), name="phone")


@pytest.fixture
def gallery(model, tmp_path):
    with galleries.Gallery(tmp_path / "secret-folder" / "family.db", model) as opened:
        rng = np.random.default_rng(0)
        levels = rng.normal(scale=10, size=(PEOPLE, 1, 3))
        volunteers = [rng.normal(level, 1, (STEPS, 3)) for level in levels for _ in range(2)]
        opened.calibrate(volunteers, np.repeat(np.arange(PEOPLE), 2), far=0.02)
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


def test_people_are_enrolled_listed_and_removed(family):
    assert family.get("/people").json() == [{"person": name, "recordings": 3} for name in NAMES]
    removed = family.delete(f"/people/{urllib.parse.quote(NAMES[1], safe='')}")
    assert removed.json() == {"removed": NAMES[1], "people": 1}
    assert family.get("/people").json() == [{"person": "alice", "recordings": 3}]


def test_a_file_that_is_sent_twice_counts_once(family, gallery):
    copy = walk("alice", 9) + b"\n"
    found = post(family, "alice", "recordings", walk("alice", 9), copy, walk("alice", 0)).json()
    assert found["enrolled"] == 4 and len(found["kept"]) == 1 and not found["refused"]
    assert [one["of"] for one in found["repeated"]] == [found["kept"][0], None]
    found = post(family, NAMES[1], "recordings", copy).json()
    assert not found["kept"] and found["enrolled"] == 3
    (refused,) = found["refused"]
    assert "'alice'" in refused["reason"] and NAMES[1] in refused["reason"]
    gallery._records.add(NAMES[1], gallery._templates().enrolled_of("alice"))
    sent = files(walk("alice", 9))
    found = family.post("/identify", files=sent).json()
    assert found["person"] is None and found["tied"] == sorted(NAMES)


def test_the_decisions_are_those_of_the_gallery(family, gallery):
    for person in NAMES:
        found = post(family, "alice", "verify", walk(person, 9)).json()
        values = np.loadtxt(io.BytesIO(walk(person, 9)), delimiter=",", skiprows=1)[:, 1:]
        expected = gallery.verify("alice", values)
        assert found["accepted"] == expected.accepted == (person == "alice")
        assert found["threshold"] == expected.threshold


def test_a_person_is_identified_and_a_stranger_is_none(family):
    found = family.post("/identify", files=files(walk(NAMES[1], 9)), data={"top": "1"}).json()
    assert (found["person"], found["people"], found["fpir"]) == (NAMES[1], 2, 0.04)
    assert found["candidates"] == []
    assert family.post("/identify", files=files(walk("nobody"))).json()["person"] is None


def test_thresholds_are_told_and_chosen(family, gallery):
    (told,) = family.get("/thresholds").json()
    assert (told["far"], told["value"]) == (0.02, gallery.thresholds[0.02].value)
    assert post(family, "alice", "verify", walk("alice"), far="0.02").json()["accepted"]
    assert told["extrapolated"] is False
    found = post(family, "alice", "verify", walk("alice")).json()
    assert (found["far"], found["extrapolated"]) == (0.02, False)


def test_arrays_tables_and_their_rates_are_read(family):
    array = io.BytesIO()
    np.save(array, np.loadtxt(io.BytesIO(walk("alice", 9)), delimiter=",", skiprows=1)[:, 1:])
    sent = files(array.getvalue(), name="new.npy")
    found = family.post("/people/alice/verify", files=sent).json()
    assert found["accepted"] and any("`rate_hz` says it" in note for note in found["notes"])
    found = family.post("/people/alice/verify", files=sent, data={"rate_hz": "50"}).json()
    assert not any("rate" in note for note in found["notes"])
    lines = walk("alice", 9, steps=80).splitlines()
    time, _, values = lines[20].partition(b",")
    uneven = b"\n".join([*lines[:20], b"%.4f,%b" % (float(time) + 0.018, values), *lines[21:]])
    refused = post(family, "alice", "verify", uneven)
    assert refused.status_code == 422 and "even ones by `resample`" in refused.json()["error"]
    assert post(family, "alice", "verify", uneven, resample="true").json()["accepted"]
    other = walk("alice", 9, header="t,ax,ay,az")
    assert post(family, "alice", "verify", other, channels="ax,ay,az").json()["accepted"]
    gap = b"\n".join([*lines[:31], *lines[60:]])
    found = post(family, "alice", "verify", gap).json()
    assert any("cut at 1 long gap" in note for note in found["notes"])
    clock = walk("alice", 9, header="foo,x (g),y (g),z (g)")
    asked = post(family, "alice", "verify", clock).json()["notes"]
    assert any("give `time` 'foo'" in note or "`time='foo'`" in note for note in asked)
    found = post(family, "alice", "verify", clock, time="foo", time_unit="s", max_gap="1").json()
    assert found["accepted"] and found["notes"] == []
    for name, value in (("time", "bar"), ("time_unit", "h"), ("max_gap", "-1"), ("max_gap", "x")):
        assert post(family, "alice", "verify", clock, **{name: value}).status_code == 422


def test_recordings_that_do_not_fit_are_refused_by_name(family):
    good, short, strange = walk("alice", 7), walk("alice", steps=5), walk("nobody")
    sent = [
        ("files", (name, content))
        for name, content in {"a.csv": good, "b.csv": short, "c.csv": strange}.items()
    ]
    found = family.post("/people/alice/recordings", files=sent).json()
    assert (found["kept"], found["enrolled"]) == (["a.csv"], 4)
    reasons = {one["file"]: one["reason"] for one in found["refused"]}
    assert reasons["b.csv"].startswith("b.csv has 5 steps")
    assert reasons["c.csv"].startswith("c.csv: it is ")
    assert "from the nearest other recording of 'alice'" in reasons["c.csv"]


def test_a_decision_is_explained_by_a_picture(family, gallery):
    assert post(family, "alice", "explanation", walk(NAMES[1], 9)).status_code == 403
    client = TestClient(app.application(gallery, WITH_SCORES), base_url=HERE)
    answer = post(client, "alice", "explanation", walk(NAMES[1], 9))
    assert answer.headers["content-type"] == "image/svg+xml" and b"<svg" in answer.content


def test_a_person_is_renamed(family):
    answer = family.patch("/people/alice", json={"name": "Alice B."})
    assert answer.json() == {"renamed": "alice", "name": "Alice B."}
    assert "Alice B." in [one["person"] for one in family.get("/people").json()]
    assert family.patch("/people/alice", json={"name": "x"}).status_code == 404
    assert family.patch("/people/Alice%20B.", json={"name": NAMES[1]}).status_code == 422
    assert family.patch("/people/Alice%20B.", json={"name": "a\nb"}).status_code == 422


def test_recordings_are_marked_as_not_a_person_s(family):
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


def test_a_threshold_is_set_by_recordings_of_people(family, gallery):
    people, walks = volunteers()
    found = family.post("/calibration", files=files(*walks), data={"people": people, "far": 0.1})
    assert found.json()["threshold"]["far"] == 0.1 and found.json()["boundary"] is None
    assert gallery.thresholds[0.1].value == found.json()["threshold"]["value"]
    few = family.post("/calibration", files=files(*walks), data={"people": people[:-1]})
    assert few.status_code == 422 and "80 recordings" in few.json()["error"]


def test_a_claim_is_listened_to_over_requests(family, gallery):
    assert post(family, "alice", "listen", walk("alice", 9)).status_code == 422  # no boundary
    people, walks = volunteers(steps=80)
    fields = {"people": people, "far": 0.1, "window": 0.4}
    found = family.post("/calibration", files=files(*walks), data=fields).json()
    assert found["boundary"]["window"] == 20 and found["threshold"] is None
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


def test_many_who_ask_at_once_are_answered_one_after_the_other(family, gallery):
    def enrolled_or_verified(seed):
        what = ("recordings", "verify")[seed % 2]
        return post(family, "alice", what, walk("alice", seed)).status_code

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert {*pool.map(enrolled_or_verified, range(10, 26))} == {200}
    assert gallery.people()["alice"] == 3 + 8


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
def test_an_error_is_told_without_the_server_s_paths(family, tmp_path, request_, status, message):
    answer = post(family, *request_)
    assert answer.status_code == status and message in answer.json()["error"]
    for told in ("secret-folder", str(tmp_path), "/tmp", "Traceback"):
        assert told not in answer.text


def test_fields_that_are_none_are_refused(family):
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
def test_the_name_of_a_file_leads_nowhere(family, name):
    answer = family.post("/identify", files=files(b"x\n", name=name))
    assert answer.status_code == 422
    assert len(answer.json()["error"]) < 500 and "etc" not in answer.text


@pytest.mark.parametrize("name", ["model.keras", "page.html", "csv", "x.csv.exe"])
def test_other_files_are_refused(family, name):
    answer = family.post("/identify", files=files(walk("alice"), name=name))
    assert answer.status_code == 422 and "send files that end in .csv" in answer.json()["error"]


def test_sent_files_are_removed(family, tmp_path, monkeypatch):
    monkeypatch.setattr(uploads.tempfile, "tempdir", str(tmp_path / "sent"))
    (tmp_path / "sent").mkdir()
    for content in (walk("alice"), b"no recording"):
        family.post("/identify", files=files(content))
    assert not [*(tmp_path / "sent").iterdir()]


def test_too_much_is_refused(family):
    large = files(b"0" * (guard.MOST_BYTES + 1))
    assert family.post("/identify", files=large).status_code == 413
    chunks = (b"0" * 10**6 for _ in range(guard.MOST_BYTES // 10**6 + 1))
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = family.post("/identify", content=_parts(chunks), headers=form)
    assert answer.status_code == 413 and "20 MB" in answer.json()["error"]
    many = files(*(uploads.MOST_FILES + 1) * [walk("alice")])
    assert "Send 1 to 20 files. Received 21" in family.post("/identify", files=many).text


def _parts(chunks):
    yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.csv"\r\n\r\n'
    yield from chunks
    yield b"\r\n--x--\r\n"


def test_a_small_file_of_many_numbers_is_refused_before_it_is_unpacked(family):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def sent(**columns):
        written = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), written)
        return family.post("/identify", files=files(written.getvalue(), name="a.parquet"))

    zeros = np.zeros(5 * 10**6 // 3 + 1, np.int8)
    assert "more than 5,000,000 numbers" in sent(x=zeros, y=zeros, z=zeros).json()["error"]
    answer = sent(x=["a"], y=[0.0], z=[0.0])
    assert answer.status_code == 422 and "'x'" in answer.json()["error"]
    fitting = {name: np.random.default_rng(0).normal(size=STEPS) for name in "xyz"}
    assert sent(**fitting).status_code == 200


def test_packed_text_is_read_up_to_a_size(family):
    packed = gzip.compress(walk("alice"))
    answer = family.post("/identify", files=files(packed, name="a.csv.gz"))
    assert answer.status_code == 200 and answer.json()["person"] == "alice"
    bomb = gzip.compress(bytes(2**26 + 1))
    answer = family.post("/identify", files=files(bomb, name="a.csv.gz"))
    assert "unpacks to more than 64 MiB" in answer.json()["error"]


def test_a_small_flac_file_of_many_samples_is_refused_before_it_is_decoded(family):
    soundfile = pytest.importorskip("soundfile")
    written = io.BytesIO()
    silence = np.zeros(20 * 10**6 + 1, np.int16)
    soundfile.write(written, silence, RATE_HZ, format="FLAC", subtype="PCM_16")
    answer = family.post("/identify", files=files(written.getvalue(), name="a.flac"))
    assert "more than 20,000,000 numbers" in answer.json()["error"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:8000", "10.0.0.1", "["])
def test_another_name_is_not_answered_to(family, host):
    """A name of somebody else's that leads to this machine (DNS rebinding)."""
    answer = family.get("/people", headers={"Host": host})
    assert answer.status_code == 421 and "alice" not in answer.text


@pytest.mark.parametrize("host", ["localhost:8000", "[::1]:8000", "127.0.0.1:9000", "LOCALHOST"])
def test_its_own_names_are(family, host):
    assert family.get("/people", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_are_refused(family, headers):
    answer = family.post("/people/alice/recordings", files=files(walk("alice")), headers=headers)
    assert answer.status_code == 403
    assert family.delete("/people/alice", headers=headers).status_code == 403
    assert family.get("/people").json()[0] == {"person": "alice", "recordings": 3}
    assert family.get("/people", headers={"Origin": HERE}).status_code == 200


def test_a_proxy_that_names_its_address_and_leaves_out_the_origin_is_answered(gallery):
    """What Caddy and nginx send by the lines in the documentation."""
    proxied = {"Host": "127.0.0.1", "X-Forwarded-Host": "people.example.org"}
    known = {"Authorization": f"Bearer {TOKEN.decode()}"}
    client = TestClient(app.application(gallery, WITH_TOKEN), base_url=HERE)

    def status(**headers):
        return client.get("/people", headers=proxied | headers).status_code

    own, foreign = {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "cross-site"}
    assert status(**known, **own) == status(**known) == 200
    assert status(**known, **foreign) == 403
    assert status(**own) == 401


def test_servers_share_a_gallery(family, gallery, model):
    with galleries.Gallery(gallery.path, model) as same:
        other = TestClient(app.application(same, LOCAL), base_url=HERE)
        assert other.post("/identify", files=files(walk("carol"))).json()["person"] is None
        post(family, "carol", "recordings", *(walk("carol", i) for i in range(3)))
        assert other.post("/identify", files=files(walk("carol"))).json()["person"] == "carol"
        assert other.delete("/people/carol").status_code == 200
        assert post(family, "carol", "verify", walk("carol")).status_code == 404


def test_the_token_is_asked_for_where_there_is_one(gallery, monkeypatch):
    anywhere = settings.Settings(host="0.0.0.0", tokens=tokens.Tokens([TOKEN]))
    client = TestClient(app.application(gallery, anywhere), base_url="http://10.0.0.1:80")
    compared = []
    same = tokens.hmac.compare_digest
    monkeypatch.setattr(
        tokens.hmac, "compare_digest", lambda *pair: compared.append(pair) or same(*pair)
    )
    right = f"Bearer {TOKEN.decode()}"
    for given in (None, "Bearer", "Bearer \u00e9", right.replace("Bearer", "Basic"), f"{right}0"):
        headers = {} if given is None else {"Authorization": given.encode("latin-1")}
        answer = client.get("/people", headers=headers)
        assert answer.status_code == 401 and answer.headers["WWW-Authenticate"] == "Bearer"
    assert len(compared) == 5  # in constant time
    known = {"Authorization": right}
    assert client.get("/people", headers=known).json() == []
    assert client.get("/").status_code == client.get("/openapi.json").status_code == 200
    assert client.get("/people", headers={**known, "Host": "evil.example"}).status_code == 421


def test_every_answer_carries_the_headers_of_a_page_that_loads_nothing_else(family):
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


def test_no_log_has_a_name_and_no_error_a_reason_that_nobody_foresaw(family, gallery, monkeypatch):
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


def test_what_is_wrong_with_the_gallery_s_file_is_not_told(family, gallery, monkeypatch):
    def failing(*_):
        raise OSError("/home/alice/family.db cannot be used: disk I/O error")

    monkeypatch.setattr(type(gallery), "people", failing)
    lines = []
    monkeypatch.setattr(logs.LOGGER, "handle", lambda record: lines.append(line(record)))
    answer = family.get("/people")
    assert answer.status_code == 503 and "alice" not in answer.text
    assert lines[0]["message"].endswith("disk I/O error")


def test_no_answer_holds_an_embedding(family, gallery):
    """Those of the model are the recording's quantiles: none of its numbers may be sent."""
    numbers = {f"{abs(value):.3f}" for value in gallery._records.templates()[2].ravel()}
    probe = walk("alice", 9)
    told = [post(family, "alice", what, probe).text for what in ("verify", "recordings")]
    told += [family.post("/identify", files=files(probe)).text, family.get("/people").text]
    sent = {f"{abs(float(one)):.3f}" for one in re.findall(r"-?\d+\.\d+", "".join(told))}
    assert len(sent & numbers) <= 1  # one of them may be equal by chance


def test_only_this_machine_is_listened_to_without_a_token(command, tmp_path, gallery):
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        code, _, err = command("serve", gallery.path, "--host", host)
        assert code == 2 and "--token-file FILE" in err
    short = tmp_path / "short.token"
    short.write_text("secret")
    short.chmod(0o600)
    code, _, err = command("serve", gallery.path, "--token-file", short)
    assert code == 2 and "at least 16 letters" in err and "secret'" not in err
    assert "gone.db" in command("serve", tmp_path / "gone.db", "--port", "0")[2]
    with listening.to("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert (
            f"Cannot listen at 127.0.0.1, port {port}"
            in (command("serve", gallery.path, "--port", port)[2])
        )


def test_the_extra_is_named_where_it_is_missing(command, gallery, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    code, _, err = command("serve", gallery.path)
    assert code == 2 and 'pip install "keras-dml[serve]"' in err


def test_other_commands_do_not_load_the_server():
    code = "import sys, keras_dml.cli; print({'fastapi', 'uvicorn', 'pydantic'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr


def test_it_serves_until_it_is_stopped(command, gallery, monkeypatch):
    served = []
    monkeypatch.setattr(listening, "serve", lambda application, listener: served.append(listener))
    from keras_dml.gallery import gallery as gallery_module

    monkeypatch.setattr(
        gallery_module.Gallery,
        "_checked_model",
        lambda self, found: found,  # the model is no zoo's
    )
    code, out, _ = command("serve", gallery.path, "--port", "0")
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
        return f"put(...{[one.decode() for one in walks]!r});"

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
    said = act("return by('detail').innerText")
    assert "The threshold is for FAR 2 %. " in said
    fpir = gallery.thresholds[0.02].among(1)
    assert f"up to {100 * fpir:.3g} % of strangers" in said and "FNIR" not in said

    assert act("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert act(UNLABELED) == []
    assert browser.complaints == []
