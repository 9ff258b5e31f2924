"""Tests of the routes of the server that manage kept recordings."""

import os
import shutil

import pytest
from starlette.testclient import TestClient

from export.browser import Browser
from keras_dml.gallery.server import app, settings, tokens
from tests.gallery import kept, stub_server

HERE = "http://127.0.0.1:8000"


@pytest.fixture
def gallery(tmp_path):
    with kept.gallery(tmp_path / "family.db") as gallery:
        yield gallery


@pytest.fixture
def client(gallery):
    return TestClient(app.application(gallery, settings.Settings()), base_url=HERE)


def test_a_proposal_is_listed_added_and_undone(client):
    (proposal,) = client.get("/proposals").json()
    assert proposal["person"] == "alice" and proposal["created"] < proposal["expires"]
    path = f"/proposals/{proposal['id']}"
    assert client.post(f"{path}/accept").json() == {
        "person": "alice",
        "added": 1,
        "repeated": 0,
        "refused": [],
        "enrolled": 2,
    }
    assert client.get("/proposals").json() == []
    first, second = client.get("/people/alice/recordings").json()
    assert first["id"] is None and second["id"] == proposal["id"]
    assert client.post(f"{path}/undo").json() == {"person": "alice", "enrolled": 1}
    assert client.post(f"{path}/undo").status_code == 404
    answer = client.delete(path)
    assert answer.status_code == 404 and "GET /proposals" in answer.json()["error"]


def test_strangers_are_listed_named_and_destroyed(client):
    twice, once = client.get("/strangers").json()
    assert (twice["recordings"], once["recordings"]) == (2, 1)
    named = client.post(f"/strangers/{twice['id']}", json={"name": "dora"}).json()
    assert (named["added"], named["enrolled"], named["refused"]) == (2, 2, [])
    assert client.delete(f"/strangers/{once['id']}").json() == {"destroyed": 1}
    assert client.get("/strangers").json() == []
    assert client.post(f"/strangers/{once['id']}", json={"name": "erik"}).status_code == 404


def test_the_days_of_kept_recordings_are_set(client):
    assert client.get("/keeping").json() == {"proposals": 30, "strangers": 7}
    assert client.patch("/keeping", json={"strangers": None}).json() == {
        "proposals": 30,
        "strangers": None,
    }
    assert client.get("/strangers").json() == [] and len(client.get("/proposals").json()) == 1
    for days in (0, 366.5, 1e12):
        assert client.patch("/keeping", json={"proposals": days}).status_code == 422


def test_no_score_and_no_embedding_is_sent(client):
    texts = [client.get(path).text for path in ("/proposals", "/strangers", "/keeping")]
    assert not any(word in text for text in texts for word in ("embedding", "score", "distance"))


def test_the_completeness_of_a_person_is_read(client):
    state = client.get("/people/alice/completeness").json()
    assert state["recordings"] == 1 and "another day" in state["advice"]
    assert state["needed"] is None  # the card shows a gain up to its largest number


def test_a_token_for_verification_only_sees_nothing_that_is_kept(gallery):
    limited = tokens.Tokens([], [b"0123456789abcdef"])
    client = TestClient(app.application(gallery, settings.Settings(tokens=limited)), base_url=HERE)
    headers = {"Authorization": "Bearer 0123456789abcdef"}
    for path in ("/proposals", "/strangers", "/keeping", "/people/alice/completeness"):
        assert client.get(path, headers=headers).status_code == 403


SCRIPT = """
const by = (id) => document.getElementById(id);
const wait = async (test) => {
  for (let i = 0; i < 400 && !test(); i += 1) await new Promise((done) => setTimeout(done, 25));
};
const idle = () => wait(() => !document.body.hasAttribute("aria-busy"));
const press = async (list, text) => {
  [...by(list).querySelectorAll("button")].find((each) => each.textContent === text).click();
  await idle();
};
"""


@pytest.mark.slow
def test_a_person_decides_on_the_page(gallery):
    if shutil.which("chromium") is None:
        end = pytest.fail if os.environ.get("KERAS_DML_REQUIRE_BROWSER") else pytest.skip
        end("Chromium is not installed")
    application = app.application(gallery, settings.Settings())
    with stub_server.serving(application) as (host, port), Browser(800) as browser:
        browser.open(f"http://{host}:{port}")
        texts = browser.run(
            SCRIPT
            + """
          await wait(() => !by("kept").hidden);
          await idle();
          return ["proposals", "strangers"].map((list) => by(list).innerText);
        """
        )
        assert "Add to alice" in texts[0] and "came 2 times on 1 day" in texts[1]
        answers = browser.run(
            SCRIPT
            + """
          await press("proposals", "Add");
          const answers = [by("answer").textContent];
          await press("strangers", "Name"); // without a name
          answers.push(by("detail").textContent);
          by("person").value = "dora";
          await press("strangers", "Name");
          answers.push(by("answer").textContent);
          await press("strangers", "Destroy");
          answers.push(by("answer").textContent, by("kept").hidden);
          return answers;
        """
        )
        assert answers == [
            "The recording is added to alice",
            "Enter the name of a person first.",
            "dora is enrolled",
            "The recordings are destroyed",
            True,
        ]
        undone = browser.run(
            SCRIPT
            + """
          by("people").querySelector("summary").click();
          await wait(() => by("people").querySelector(".days li:last-child button"));
          await idle();
          await press("people", "Undo");
          return by("answer").textContent;
        """
        )
        assert undone == "The recording is removed again"
        assert browser.complaints == []
    assert gallery.people() == {"alice": 1, "dora": 2}
