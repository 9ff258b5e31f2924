"""Tests that programs can use the server: health checks, metrics, logs, CORS and JSON arrays."""

import json
import re

import pytest
from starlette.testclient import TestClient

from keras_dml.gallery.server import logs, requests, settings, tokens
from tests.gallery import stub_server

HERE = "http://127.0.0.1:8000"
TOKEN = b"0123456789abcdef"
APP = "https://app.example.org"
ROWS = [[1.0, 2.0, 3.0]] * 30


@pytest.fixture
def client(monkeypatch):
    return TestClient(stub_server.application(monkeypatch), base_url=HERE)


def test_probes_need_no_token_and_numbers_need_one(monkeypatch):
    application = stub_server.application(monkeypatch, tokens=tokens.Tokens([TOKEN]))
    client = TestClient(application, base_url=HERE)
    for path in ("/healthz", "/readyz"):
        assert client.get(path).json() == {"status": "ok"}
    assert client.get("/metrics").status_code == 401
    headers = {"Authorization": f"Bearer {TOKEN.decode()}"}
    assert client.get("/metrics", headers=headers).status_code == 200


def test_a_server_is_not_ready_if_its_gallery_fails(monkeypatch):
    class Broken(stub_server.StubGallery):
        def people(self):
            raise OSError("disk I/O error")

    client = TestClient(stub_server.application(monkeypatch, Broken()), base_url=HERE)
    assert client.get("/healthz").status_code == 200
    answer = client.get("/readyz")
    assert answer.status_code == 503 and answer.headers["retry-after"] == "1"


def test_requests_and_decisions_are_counted_without_names(client):
    for row, person in ((1.0, "alice"), (-1.0, "alice"), (1.0, "mallory")):
        client.post(f"/people/{person}/verify", json={"recordings": [[[row]]]})
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    text = answer.text
    for count in ("accepted", "rejected"):
        assert f'keras_dml_decisions_total{{answer="{count}",kind="verify"}} 1.0' in text
    assert re.search(
        r'requests_total\{method="POST",route="/people/\S+verify",status="404"\} 1', text
    )
    assert "alice" not in text and "mallory" not in text


@pytest.mark.parametrize("path", ["/", "/people", "/healthz", "/nothing", "/people/alice/verify"])
def test_head_is_get_without_the_body(client, path):
    head, get = client.head(path), client.get(path)
    assert head.status_code == get.status_code and head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.slow
@pytest.mark.parametrize("given", ["abc-1.2_3", "", "a b", "x" * 65, "é", 'a"b'])
def test_a_request_has_an_id_in_its_answer_and_in_the_log(client, monkeypatch, given):
    texts, formatter = [], logs.JsonLines()
    monkeypatch.setattr(
        logs.LOGGER, "handle", lambda record: texts.append(formatter.format(record))
    )
    answer = client.get("/people", headers={"X-Request-ID": given.encode("latin-1")})
    number = answer.headers["x-request-id"]
    assert (number == given) == (given == "abc-1.2_3")
    assert re.fullmatch(r"[\w.-]{1,64}", number)
    (entry,) = map(json.loads, texts)
    assert entry["request_id"] == number and entry["route"] == "/people"
    assert entry["level"] == "info" and entry["time"].endswith("+00:00")


def test_pages_of_allowed_sites_may_ask(monkeypatch):
    application = stub_server.application(monkeypatch, origins=(APP,))
    client = TestClient(application, base_url=HERE)
    asked = {
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": "authorization, content-type, x-request-id",
    }
    other_site = {"Sec-Fetch-Site": "cross-site"}
    for origin, status in ((APP, 200), ("https://evil.example", 400), (f"{APP}.evil.example", 400)):
        answer = client.options("/people/alice", headers={"Origin": origin, **asked})
        assert answer.status_code == status
        answer = client.get("/people", headers={"Origin": origin, **other_site})
        assert answer.status_code == (200 if origin == APP else 403)
        allowed = answer.headers.get("access-control-allow-origin")
        assert allowed == (APP if origin == APP else None)
    assert "access-control-allow-credentials" not in client.get("/people").headers


def test_each_origin_of_a_request_is_checked(monkeypatch):
    """Tests requests with two headers `Origin`, which no browser sends."""
    client = TestClient(stub_server.application(monkeypatch, origins=(APP,)), base_url=HERE)
    evil = "https://evil.example"
    for first, second, status in ((HERE, HERE, 200), (HERE, evil, 403), (APP, evil, 403)):
        for pair in ((first, second), (second, first)):
            answer = client.get("/people", headers=[("Origin", origin) for origin in pair])
            assert answer.status_code == status


@pytest.mark.parametrize("origin", ["*", "app.example.org", f"{APP}/", f"{APP}/x", "null", ""])
def test_an_origin_is_checked(origin):
    with pytest.raises(ValueError, match="origin"):
        settings.Settings(origins=(origin,))


def test_a_further_name_of_the_server_is_accepted(monkeypatch):
    application = stub_server.application(monkeypatch, names=("People.example.org",))
    client = TestClient(application, base_url=HERE)
    for host, status in (("people.example.org", 200), ("example.org", 421)):
        assert client.get("/people", headers={"Host": host}).status_code == status


def test_without_tokens_other_machines_are_refused(monkeypatch):
    application = stub_server.application(monkeypatch, host=None)
    for address, status in (("127.0.0.1", 200), ("::1", 200), ("192.0.2.1", 403), ("", 403)):
        client = TestClient(application, base_url=HERE, client=(address, 1))
        assert client.get("/people").status_code == status


def test_json_arrays_are_read_like_files(client):
    answer = client.post("/people/alice/verify", json={"recordings": [ROWS], "rate_hz": 50})
    assert answer.json()["accepted"]
    gap = [[None, 2.0, 3.0] if i == 5 else row for i, row in enumerate(ROWS)]
    assert client.post("/people/alice/verify", json={"recordings": [gap]}).json()["accepted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "recordings",
    [
        None,
        [],
        {},
        [[]],
        [[[]]],
        [[1, 2]],
        [[[1], [1, 2]]],
        [[["1", "2"]]],
        [[[{}]]],
        [[[[1]]]],
        [[[10**400]]],
        21 * [ROWS],
    ],
)
def test_json_that_is_not_an_array_of_recordings_is_refused(client, recordings):
    answer = client.post("/people/alice/verify", json={"recordings": recordings})
    assert answer.status_code == 422
    assert re.search("recordings|Send 1 to 20 files", answer.json()["error"])


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"[" * 10**5, b"\xff", b"NaN", b"9" * 5000])
def test_a_body_that_is_not_a_json_object_is_refused(client, body):
    headers = {"Content-Type": "application/json"}
    answer = client.post("/people/alice/verify", content=body, headers=headers)
    assert answer.status_code == 422


def test_a_large_json_body_is_refused(client):
    body = b" " * (requests.MOST_JSON + 1)
    headers = {"Content-Type": "application/json"}
    answer = client.post("/people/alice/verify", content=body, headers=headers)
    assert answer.status_code == 413


def test_fields_that_do_not_exist_are_refused_by_name(client):
    answer = client.post("/people/alice/verify", json={"recordings": [ROWS], "farr": 0.1})
    assert answer.status_code == 422 and "farr" in answer.json()["error"]
    assert client.patch("/people/alice", json={"nam": "bob"}).status_code == 422
