"""Tests that attacks on the server fail and do not delay other clients."""

import asyncio
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from starlette.testclient import TestClient

from keras_dml import gallery as galleries
from keras_dml.gallery.server import guard, listening, readers, settings, tokens, uploads
from tests.gallery import slow_reader, stub_server

ROOT = pathlib.Path(__file__).parent.parent.parent
HERE = "http://127.0.0.1:8000"
FULL, VERIFY = b"0123456789abcdef", b"fedcba9876543210"
CSV = b"x,y,z\n" + 30 * b"1,2,3\n"
SECONDS = 2  # longest wait of other clients during an attack
SECONDS_TO_END = 5  # longest time between a signal and the end of the server
IDLE_SECONDS = 0.2  # if a request takes longer, the machine is busy with other work
HALF_SENT = {
    "nothing": b"",
    "half a head": b"GET /people HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ",
    "half a body": b"POST /identify HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\nab",
    "half a chunk": b"POST /identify HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "half a second head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /people HTTP",
}


@pytest.fixture
def client(monkeypatch):
    return TestClient(stub_server.application(monkeypatch), base_url=HERE)


def bearer(token):
    return {"Authorization": f"Bearer {token.decode()}"}


def sent(content=CSV, name="walk.csv"):
    return [("files", (name, content))]


def seconds(address, path="/healthz", headers=()):
    """Returns the number of seconds until the server responds to a request."""
    start = time.monotonic()
    assert status(address, path, headers) == 200
    return time.monotonic() - start


def usual_seconds(address, path="/healthz", headers=()):
    """Returns how many seconds the slowest of several requests takes without an attack."""
    return max(seconds(address, path, headers) for _ in range(5))


def bound(limit, usual, allowance=1):
    """Returns the longest time that a request may take during an attack, in seconds.

    Args:
        limit: Longest time on an idle machine, in seconds.
        usual: Time of a request without an attack, in seconds.
        allowance: Factor for `usual` on a busy machine. The product is added to `limit`.
    """
    return limit if usual < IDLE_SECONDS else limit + allowance * usual


def status(address, path="/healthz", headers=()):
    connection = http.client.HTTPConnection(*address, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=dict(headers))
        return connection.getresponse().status


# Half-open connections


@pytest.mark.slow
@pytest.mark.parametrize("kind", HALF_SENT)
def test_half_sent_requests_are_closed_and_other_clients_are_answered(monkeypatch, kind):
    monkeypatch.setattr(listening, "HEAD_SECONDS", 1)
    monkeypatch.setattr(guard, "CHUNK_SECONDS", 1)
    with (
        stub_server.serving(stub_server.application(monkeypatch)) as address,
        contextlib.ExitStack() as stack,
    ):
        half_sent, usual = [], usual_seconds(address)
        for _ in range(70):
            half_sent.append(stack.enter_context(socket.create_connection(address)))
            half_sent[-1].sendall(HALF_SENT[kind])
        assert seconds(address) < bound(SECONDS, usual)
        for connection in half_sent:
            connection.settimeout(30)
            while connection.recv(4096):  # reads a possible response up to the end
                pass


@pytest.mark.slow
def test_bytes_that_drip_do_not_keep_a_connection_open(monkeypatch):
    monkeypatch.setattr(listening, "HEAD_SECONDS", 1)
    with stub_server.serving(stub_server.application(monkeypatch)) as address:
        with socket.create_connection(address) as connection:
            start = time.monotonic()
            with pytest.raises(OSError):
                while time.monotonic() - start < 30:
                    connection.sendall(b"G")
                    time.sleep(0.1)


def test_the_oldest_of_too_many_waiting_connections_is_closed(monkeypatch):
    monkeypatch.setattr(listening, "MOST_WAITING", 10)
    with (
        stub_server.serving(stub_server.application(monkeypatch)) as address,
        contextlib.ExitStack() as stack,
    ):
        waiting = [stack.enter_context(socket.create_connection(address)) for _ in range(11)]
        waiting[0].settimeout(listening.HEAD_SECONDS / 2)
        assert waiting[0].recv(1) == b""
        assert status(address) == 200


# Requests of other sites


@pytest.mark.slow
@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "PUT"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "strange"])
def test_a_link_of_another_site_may_only_read(client, method, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert client.request(method, "/people/alice", headers=headers).status_code == 403
    for reads in ("GET", "HEAD"):
        assert client.request(reads, "/", headers=headers).status_code == 200
        origin = {"Origin": "http://evil.example"}
        assert client.request(reads, "/", headers=headers | origin).status_code == 403


# Traces of recordings on the disk


@pytest.mark.skipif(not pathlib.Path("/proc/self/fd").exists(), reason="files have names here")
def test_a_file_that_was_sent_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with tempfile.SpooledTemporaryFile() as file:
        file.write(CSV)
        with uploads.paths([("walk.csv", file)]) as paths:
            (path,) = paths
            assert path.suffix == ".csv" and path.read_bytes() == CSV
            assert path.is_symlink() and path.stat().st_nlink == 0
    assert not [*tmp_path.iterdir()]


def test_folders_of_killed_servers_are_swept(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed = tmp_path / f"{uploads.PREFIX}killed"
    killed.mkdir()
    (killed / "1.csv").write_bytes(CSV)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (tmp_path / f"{uploads.PREFIX}link").symlink_to(foreign)
    with tempfile.TemporaryFile() as file, uploads.paths([("walk.csv", file)]) as paths:
        (path,) = paths
        stub_server.application(monkeypatch)
        assert not killed.exists() and foreign.exists()
        assert path.parent.exists()  # a running server uses this folder


def test_a_killed_server_leaves_nothing_of_a_recording(tmp_path):
    code = (
        "import tempfile, time\n"
        "from keras_dml.gallery.server import uploads\n"
        "file = tempfile.TemporaryFile()\n"
        "file.write(b'secret walk')\n"
        "with uploads.paths([('walk.csv', file)]):\n"
        "    print('reading', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with started("-c", code, TMPDIR=str(tmp_path)) as process:
        assert process.stdout.readline() == "reading\n"
        process.kill()
    left = [path for path in tmp_path.rglob("*") if not path.is_dir()]
    assert all(not path.exists() for path in left)  # only broken links are left


# Files of tokens


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
def test_a_token_file_that_others_can_use_is_refused(tmp_path, mode):
    path = tmp_path / "token"
    path.write_bytes(FULL)
    path.chmod(mode)
    with pytest.raises(PermissionError, match=f"{path}.*chmod 600"):
        tokens.read_tokens(path)
    path.chmod(0o600)
    assert tokens.read_tokens(path) == [FULL]


def test_the_documented_command_makes_a_private_file(tmp_path):
    path = tmp_path / "token"
    path.write_bytes(b"short")
    path.chmod(0o600)
    with pytest.raises(ValueError, match="umask") as error:
        tokens.read_tokens(path)
    path.unlink()
    command = str(error.value).partition("Make a token: ")[2]
    subprocess.run(["bash", "-c", f"umask 022; {command}"], check=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(tokens.read_tokens(path)) == 1


# Permissions of clients, and wrong tokens


@pytest.fixture
def guarded(monkeypatch):
    allowed = tokens.Tokens([FULL], [VERIFY])
    return TestClient(stub_server.application(monkeypatch, tokens=allowed), base_url=HERE)


@pytest.mark.parametrize("value", ["1e9", "inf", "0", ""])
def test_a_client_may_not_send_a_threshold(client, value):
    for path in ("/people/alice/verify", "/identify", "/people/alice/listen"):
        answer = client.post(path, files=sent(), data={"threshold": value})
        assert answer.status_code == 422 and "`threshold`" in answer.json()["error"]
        answer = client.post(path, json={"recordings": [[[1, 2]]], "threshold": value})
        assert answer.status_code == 422 and "`threshold`" in answer.json()["error"]


def test_a_token_for_verification_may_do_nothing_else(guarded):
    verify = bearer(VERIFY)
    answer = guarded.post("/people/alice/verify", files=sent(), headers=verify)
    assert answer.json()["accepted"]
    assert guarded.get("/model", headers=verify).status_code == 200
    others = {
        ("GET", "/people"),
        ("GET", "/people/alice/recordings"),
        ("GET", "/thresholds"),
        ("POST", "/identify"),
        ("POST", "/people/alice/listen/recordings"),
        ("POST", "/calibration"),
        ("POST", "/people/alice/recordings"),
        ("POST", "/people/alice/rejections"),
        ("GET", "/people/alice/rejections"),
        ("DELETE", "/people/alice/rejections/1"),
        ("POST", "/people/alice/explanation"),
        ("PATCH", "/people/alice"),
        ("DELETE", "/people/alice"),
    }
    for method, path in others:
        assert guarded.request(method, path, headers=verify).status_code == 403
    assert guarded.get("/people", headers=bearer(FULL)).status_code == 200
    assert guarded.get("/people").status_code == 401
    assert guarded.get("/healthz").status_code == guarded.get("/readyz").status_code == 200


def test_wrong_tokens_are_followed_by_growing_pauses(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(tokens.time, "monotonic", lambda: now[0])
    pauses, lengths = tokens.Pauses(), []
    for _ in range(tokens.FREE + 9):
        lengths.append(pauses.after_wrong("192.0.2.1"))
        assert pauses.after_wrong("192.0.2.2") == 0 or len(lengths) > tokens.FREE
        now[0] += lengths[-1]
    assert lengths == [0] * tokens.FREE + [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert pauses.after_wrong("192.0.2.3") == 0
    now[0] += 10 * tokens.LONGEST_PAUSE
    assert pauses.after_wrong("192.0.2.1") == 0


def test_a_client_with_wrong_tokens_is_told_to_wait(guarded):
    wrong = [
        guarded.get("/people", headers=bearer(b"0123456789abcde" + bytes([65 + i])))
        for i in range(2 * tokens.FREE)
    ]
    assert [answer.status_code for answer in wrong] == [401] * tokens.FREE + [429] * tokens.FREE
    assert int(wrong[-1].headers["retry-after"]) >= 1
    assert guarded.get("/people", headers=bearer(FULL)).status_code == 200


@pytest.mark.slow
def test_many_wrong_tokens_do_not_slow_other_clients(monkeypatch):
    """Threads send 1,000 wrong tokens as fast as possible. The rate is more than 10,000 wrong
    tokens per minute.
    """
    allowed = tokens.Tokens([FULL])
    application = stub_server.application(monkeypatch, tokens=allowed)
    with stub_server.serving(application) as address:
        usual = usual_seconds(address, "/people", bearer(FULL))

        def send(number):
            return status(address, "/people", bearer(b"guess-%020d" % number))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            guesses = [pool.submit(send, number) for number in range(1000)]
            longest = 0.0
            while not all(guess.done() for guess in guesses):
                longest = max(longest, seconds(address, "/people", bearer(FULL)))
            assert {guess.result() for guess in guesses} <= {401, 429}
    assert longest < bound(SECONDS, usual, 8)  # eight threads send wrong tokens


# Scores, and pauses after rejected claims


def test_answers_hold_closeness_only_with_the_option_for_scores(client, monkeypatch):
    answer = client.post("/people/alice/verify", files=sent())
    assert answer.json()["accepted"] and answer.json()["closeness"] is None
    assert "1.23" not in answer.text
    asked = TestClient(stub_server.application(monkeypatch, scores=True), base_url=HERE)
    answer = asked.post("/people/alice/verify", files=sent())
    assert answer.json()["closeness"] == 88.0 and answer.json()["needed"] == 80.0
    assert "1.23" not in answer.text


def test_too_many_tries_are_answered_with_a_time_to_wait(monkeypatch):
    clients = []

    class Gallery(stub_server.StubGallery):
        def verify(self, person, recordings, *, far=None, client):
            clients.append(client)
            raise galleries.TooManyTries(6.2)

    allowed = tokens.Tokens([FULL], [VERIFY])
    application = stub_server.application(monkeypatch, Gallery(), tokens=allowed)
    asked = TestClient(application, base_url=HERE)
    for token in (FULL, VERIFY, FULL):
        answer = asked.post("/people/alice/verify", files=sent(), headers=bearer(token))
        assert answer.status_code == 429 and answer.headers["retry-after"] == "7"
    assert clients[0] == clients[2] != clients[1] and FULL.decode() not in clients[0]


# Reading of slow files


@pytest.fixture
def slow_file(tmp_path, monkeypatch):
    """File that a simulated reader reads until the file is removed."""
    monkeypatch.setattr(readers, "COMMAND", slow_reader.COMMAND)
    path = tmp_path / "slow.csv"
    path.write_bytes(CSV)
    return path


@pytest.mark.slow
def test_a_reading_has_a_deadline(slow_file, tmp_path, monkeypatch):
    fast = tmp_path / "fast.csv"
    fast.write_bytes(CSV)

    def read_both(read):
        pieces = read(fast)
        start = time.monotonic()
        with pytest.raises(readers.ReadingTimeout, match="within 5 seconds"):
            read(slow_file)
        return pieces, time.monotonic() - start

    monkeypatch.setattr(readers, "SECONDS", 5)
    pieces, seconds = asyncio.run(readers.Readers().run("client", read_both))
    assert pieces[0].values.shape == (30, 3) and seconds < 10


def program(monkeypatch, script):
    """Replaces the program that reads files by a shell script."""
    monkeypatch.setattr(readers, "COMMAND", ["sh", "-c", script])


def test_the_deadline_does_not_count_the_start_of_a_process(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "SECONDS", 2)
    answer = """'["value", "too short"]'"""
    program(monkeypatch, f"""sleep 4; echo '"ready"'; read job; echo {answer}; read job""")
    with pytest.raises(ValueError, match="^too short$"):
        asyncio.run(readers.Readers().run("client", lambda read: read(tmp_path / "walk.csv")))


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("kill -KILL $$", "SIGKILL, probably because it ran out of memory"),
        ("kill -SEGV $$", "SIGSEGV"),
        ("kill -ABRT $$", "SIGABRT"),
        ("exit 3", "exit status 3"),
    ],
)
def test_the_end_of_a_process_is_not_reported_as_a_timeout(tmp_path, monkeypatch, end, reason):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    program(monkeypatch, f"""echo '"ready"'; read job; {end}""")

    def read_both(read):
        with pytest.raises(readers.ReaderCrash, match=f"{first}.* ended with {reason}"):
            read(first)
        with pytest.raises(readers.ReaderCrash, match=f"{second} was not read"):
            read(second)

    asyncio.run(readers.Readers().run("client", read_both))


@pytest.mark.parametrize("script", ["exit 1", "echo ready", "exec sleep 60"])
def test_a_reader_process_that_does_not_start_is_an_error_of_the_server(
    tmp_path, monkeypatch, script
):
    monkeypatch.setattr(readers, "START_SECONDS", 1)
    program(monkeypatch, script)
    with pytest.raises(OSError, match="within 1 seconds"):
        asyncio.run(readers.Readers().run("client", lambda read: read(tmp_path / "walk.csv")))


def test_a_server_starts_a_process_before_the_first_request(tmp_path, monkeypatch):
    starts = tmp_path / "starts"
    answer = """'["value", "too short"]'"""
    loop = f"while read job; do echo {answer}; done"
    program(monkeypatch, f"""echo start >> {starts}; echo '"ready"'; {loop}""")
    with TestClient(stub_server.application(monkeypatch), base_url=HERE) as client:
        end = time.monotonic() + 60
        # the shell creates the file before it writes
        while not (starts.exists() and starts.stat().st_size) and time.monotonic() < end:
            time.sleep(0.05)
        assert starts.read_text() == "start\n"
        assert client.post("/people/alice/verify", files=sent()).json()["error"] == "too short"
    assert starts.read_text() == "start\n"


def test_fast_files_wait_for_one_process(tmp_path, monkeypatch):
    (tmp_path / "walk.csv").write_bytes(CSV)
    monkeypatch.setattr(readers, "PATIENCE_SECONDS", 60)  # also on a busy machine
    started, process = [], readers._Process
    monkeypatch.setattr(readers, "_Process", lambda: started.append(process()) or started[-1])

    async def work():
        pool = readers.Readers()
        pool.start()
        reading = (pool.run("client", lambda read: read(tmp_path / "walk.csv")) for _ in range(8))
        return await asyncio.gather(*reading)

    assert len(asyncio.run(work())) == 8 and len(started) == 1


@pytest.mark.slow
def test_slow_files_of_one_client_leave_processes_to_others(slow_file, tmp_path, monkeypatch):
    fast = tmp_path / "fast.csv"
    fast.write_bytes(CSV)
    monkeypatch.setattr(readers, "SECONDS", 300)

    async def work():
        pool = readers.Readers()
        slow = [
            asyncio.ensure_future(pool.run("attacker", lambda read: read(slow_file)))
            for _ in range(2 * readers.MOST_OF_CLIENT)
        ]
        await asyncio.sleep(0.1)
        pieces = await pool.run("other", lambda read: read(fast))
        assert not any(reading.done() for reading in slow)
        slow_file.unlink()
        errors = await asyncio.gather(*slow, return_exceptions=True)
        assert {type(error) for error in errors} == {OSError}
        return pieces

    assert asyncio.run(work())[0].values.shape == (30, 3)


@pytest.mark.slow
def test_a_csv_of_100_000_columns_does_not_delay_other_clients(monkeypatch):
    monkeypatch.setattr(readers, "SECONDS", 10)
    count = 100_000
    names = ",".join(f"c{number}" for number in range(count)).encode()
    content = names + b"\n" + 2 * (b",".join(count * [b"1"]) + b"\n")
    application = stub_server.application(monkeypatch)
    client = TestClient(application, base_url=HERE)
    with (
        stub_server.serving(application) as address,
        concurrent.futures.ThreadPoolExecutor(1) as pool,
    ):
        usual = usual_seconds(address, "/people")
        attack = pool.submit(client.post, "/people/alice/verify", files=sent(content))
        longest = 0.0
        while not attack.done():
            longest = max(longest, seconds(address, "/people"))
            time.sleep(0.1)
    assert attack.result().status_code in (200, 422)
    assert longest < bound(SECONDS, usual)


def started(*words, **environment):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "person"),
    [
        (signal.SIGINT, "alice"),
        (signal.SIGTERM, "slow"),
        pytest.param(signal.SIGINT, "slow", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, "alice", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_server_within_five_seconds(slow_file, tmp_path, person, number):
    """The signal arrives while the server reads a file or while the gallery decides."""
    fast = tmp_path / "fast.csv"
    fast.write_bytes(CSV)
    file = slow_file if person == "alice" else fast
    process = started("-m", "tests.gallery.stub_server", file)
    with process:
        host, port = process.stdout.readline().strip()[len("http://") : -1].split(":")
        address = host, int(port)

        def ask():
            connection = http.client.HTTPConnection(*address)
            ended = contextlib.suppress(OSError, http.client.HTTPException)
            with contextlib.closing(connection), ended:
                body = b'{"recordings": [[[1, 2]]]}'
                headers = {"Content-Type": "application/json"}
                connection.request("POST", f"/people/{person}/verify", body, headers)
                connection.getresponse().close()

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        time.sleep(1)
        usual = usual_seconds(address)
        process.send_signal(number)
        start = time.monotonic()
        process.wait(60)
        assert time.monotonic() - start < bound(SECONDS_TO_END, usual, 10)
        asking.join(60)


def test_settings_of_the_environment(monkeypatch, tmp_path):
    path = tmp_path / "token"
    path.write_bytes(FULL + b"\n" + VERIFY + b"\n")
    path.chmod(0o600)
    monkeypatch.setenv("KERAS_DML_SERVE_TOKEN_FILE", str(path))
    monkeypatch.setenv("KERAS_DML_SERVE_ORIGINS", "https://a.example, https://b.example:8443")
    options = settings.of_environment()
    assert options.origins == ("https://a.example", "https://b.example:8443")
    assert options.tokens.client(f"Bearer {VERIFY.decode()}").may_change and not options.scores
    for name, value in (("ORIGINS", "*"), ("ORIGINS", "https://a.example/x"), ("SCORES", "yes")):
        with monkeypatch.context() as changed:
            changed.setenv(f"KERAS_DML_SERVE_{name}", value)
            with pytest.raises(ValueError, match=value.replace("*", r"\*")):
                settings.of_environment()


@pytest.mark.parametrize(
    "answer",
    [
        b"\x80\x04\x95(pickle)\n",
        b"[]\n",
        b'["read", [{"shape": [1]}]]\n',
        b'["read", [{"shape": [100000, 100000]}]]\n',
        b'["read", [{"shape": [-1, 4]}]]\n',
        b'["other", "text"]\n',
        b"[" * 10**6,
        b"",
    ],
)
def test_invalid_answers_of_a_reader_process_are_errors(tmp_path, monkeypatch, answer):
    """A malicious file may have taken control of the process that reads files."""
    output = tmp_path / "output"
    output.write_bytes(b'"ready"\n' + answer)
    monkeypatch.setattr(readers, "COMMAND", ["cat", str(output)])
    with pytest.raises(readers.ReaderCrash, match="cannot be read"):
        asyncio.run(readers.Readers().run("client", lambda read: read(tmp_path / "walk.csv")))


def test_a_response_does_not_wait_for_the_client_to_acknowledge_its_head():
    with (
        listening.to("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
