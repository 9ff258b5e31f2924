"""Tests that the lines of the Dockerfile and the ASGI application work, without Docker."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import venv

import pytest

from keras_dml.gallery import asgi

ROOT = pathlib.Path(__file__).parent.parent.parent
FILE = ROOT / "keras_dml/gallery/Dockerfile"
PAGE = ROOT / "keras_dml/gallery/DEPLOYMENT.md"
STARTED_SECONDS = 300  # longest start of the server on a busy machine
MODEL = "vowels_qp_wl"


def lines(instruction):
    text = FILE.read_text().replace("\\\n", " ")
    return re.findall(rf"^{instruction} (.+)$", text, re.MULTILINE)


def test_the_image_does_not_run_as_root_and_checks_its_health():
    assert lines("USER") == ["10001:10001"]
    (health,) = lines("HEALTHCHECK")
    assert "/readyz" in health
    (command,) = lines("CMD")
    words = json.loads(command)
    assert words[:2] == ["uvicorn", "keras_dml.gallery.asgi:application"]
    assert {"--no-access-log", "--timeout-graceful-shutdown"} <= {*words}


def test_the_page_documents_all_environment_variables():
    names = set(re.findall(r"^\| `(KERAS_DML_\w+)`", PAGE.read_text(), re.MULTILINE))
    documented = set(re.findall(r"`(KERAS_DML_\w+)`", asgi.__doc__))
    assert names == documented and len(names) == 9
    environment = {line.partition("=")[0] for line in lines("ENV")}
    assert environment <= names


def test_the_application_needs_a_gallery(monkeypatch):
    monkeypatch.delenv("KERAS_DML_GALLERY", raising=False)
    with pytest.raises(ValueError, match="KERAS_DML_GALLERY must name"):
        asgi.application  # noqa: B018
    with pytest.raises(AttributeError):
        asgi.other  # noqa: B018


@pytest.mark.slow
def test_the_run_lines_of_the_dockerfile_install_the_package(tmp_path):
    """The test needs no network: the new environment uses the packages of this environment."""
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)
    (site,) = environment.glob("lib/python*/site-packages")
    here = [entry for entry in sys.path if entry.endswith("site-packages")]
    (site / "these.pth").write_text("\n".join(here))
    replaced = {
        "/src": str(ROOT),
        "/wheels": str(tmp_path / "wheels"),
        "/gallery": str(tmp_path / "gallery"),
        "10001": str(os.getuid()),
        "pip wheel": "pip wheel --no-build-isolation",
    }
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    variables |= {
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
    }
    commands = lines("RUN")
    assert len(commands) == 3
    for command in commands:
        for old, new in replaced.items():
            command = command.replace(old, new)
        done = subprocess.run(
            ["sh", "-c", command], env=variables, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    code = "import keras_dml.gallery.server as s; print(s.__file__)"
    done = subprocess.run(
        [environment / "bin/python", "-c", code], env=variables, cwd=tmp_path, capture_output=True
    )
    assert str(environment) in done.stdout.decode()
    assert (tmp_path / "gallery").is_dir()


@pytest.mark.slow
def test_the_command_serves_a_gallery(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123456789abcdef")
    token.chmod(0o600)
    variables = os.environ | {
        "KERAS_DML_GALLERY": str(tmp_path / "people.db"),
        "KERAS_DML_GALLERY_MODEL": MODEL,
        "KERAS_DML_SERVE_TOKEN_FILE": str(token),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    words = [word.replace("8000", port) for word in json.loads(lines("CMD")[0])]
    log = tmp_path / "log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", *words], env=variables, cwd=tmp_path, stderr=errors
        )
    try:
        url = f"http://127.0.0.1:{port}"
        assert answer(f"{url}/readyz", process, log) == {"status": "ok"}
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.urlopen(f"{url}/people")
        assert refusal.value.code == 401
        refusal.value.close()
        headers = {"Authorization": f"Bearer {token.read_text()}", "X-Request-ID": "from-a-proxy"}
        with urllib.request.urlopen(urllib.request.Request(f"{url}/people", headers=headers)) as it:
            assert json.load(it) == [] and it.headers["X-Request-ID"] == "from-a-proxy"
    finally:
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        process.wait(60)
    assert time.monotonic() - start < 30
    entries = [json.loads(line) for line in log.read_text().splitlines() if line[:1] == "{"]
    assert [entry["status"] for entry in entries if entry.get("request_id") == "from-a-proxy"] == [
        200
    ]


def answer(url, process, log):
    """Sends a request until the server has started, and returns the response."""
    end = time.monotonic() + STARTED_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url) as opened:
                return json.load(opened)
        except (urllib.error.URLError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            time.sleep(0.2)
    raise AssertionError(log.read_text())
