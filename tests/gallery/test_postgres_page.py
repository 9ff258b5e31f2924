"""Tests that all commands of the page on PostgreSQL run in order, for ordinary roles."""

import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pytest
from starlette.testclient import TestClient

from keras_dml import Gallery, cli
from keras_dml import gallery as galleries
from keras_dml._backend import keras
from keras_dml.gallery.server import listening
from keras_dml.layers import InputContract, QuantileLayer
from tests.gallery.people import People
from tests.zoo.cards import CARD

pytest.importorskip("keras_dml.gallery.postgres", exc_type=ImportError)

PAGE = pathlib.Path(__file__).parents[2] / "keras_dml/gallery/README.md"
HOST, PASSWORDS = "db.example.org", {"family": "sesame-1", "desk": "sesame-2"}
DATABASES = ("family", "locked", "restored")
RATE_HZ, STEPS, VOLUNTEERS = 50, 100, 40
ID = r"\b[0-9a-f]{16}\b"


def blocks():
    """Returns `(language, lines)` for each code block that users of the page type."""
    pattern = r"^```(bash|sql|ini)\n(.*?)^```$"
    return re.findall(pattern, PAGE.read_text(), re.DOTALL | re.MULTILINE)


def write_recordings(folder, arrays):
    folder.mkdir(parents=True, exist_ok=True)
    for letter, values in zip("abcdefgh", arrays, strict=False):
        rows = [
            ",".join(f"{number:.5g}" for number in (i / RATE_HZ, *row))
            for i, row in enumerate(values)
        ]
        (folder / f"{letter}.csv").write_text("\n".join(["time_s,x,y,z", *rows]))


def write_family(folder, monkeypatch):
    """Writes the files that the page uses: a model, recordings, and another gallery."""
    from keras_dml.training import publish

    signal = keras.Input((None, 3))
    contract = InputContract(["x", "y", "z"], "g", RATE_HZ, min_steps=10, max_steps=STEPS)
    embedding = QuantileLayer(6)(keras.layers.Identity()(contract(signal)))
    card = CARD | {"name": "phone", "input": CARD["input"] | {"rate_hz": RATE_HZ}}
    model = keras.Model(signal, embedding, name="phone")
    publish(folder / "phone", model, card, [np.zeros((STEPS, 3))])
    people = People()
    for name in ("alice", "bob", "carol"):
        write_recordings(folder / "people" / name, people(name, 4, STEPS))
    for i in range(VOLUNTEERS):
        write_recordings(folder / "volunteers" / f"{i:02d}", people(f"volunteer {i}", 2, STEPS))
    for name in ("dora", "erik"):
        write_recordings(folder / name, people(name, 3, STEPS))
    for name, person in (("new", "alice"), ("walk", "alice"), ("intruder", "stranger")):
        write_recordings(folder / name, people(person, 1, STEPS))
        (folder / name / "a.csv").rename(folder / f"{name}.csv")
    monkeypatch.chdir(folder)
    with Gallery(folder / "phone.db", folder / "phone") as gallery:
        gallery.enroll("erin", people("erin", 3, STEPS))


@pytest.fixture
def proxies(server, tmp_path):
    """The folder of certificates, the port of a TLS proxy and the port of a proxy without TLS."""
    from tests.gallery import tls

    folder = tmp_path / "certificates"
    folder.mkdir()
    tls.write_certificates(folder, HOST)
    socket = str(server.folder / ".s.PGSQL.5432")
    with tls.proxy(socket, folder) as port, tls.proxy(socket) as plain_port:
        yield folder, port, plain_port


@pytest.fixture
def family(server, proxies, tmp_path, monkeypatch):
    """Working folder with the files that the page uses, and a server with passwords and TLS."""
    certificates, port, plain_port = proxies
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    (home / ".postgresql").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    work = tmp_path / "work"
    work.mkdir()
    write_family(work, monkeypatch)
    for path in (home / ".postgresql" / "root.crt", work / "ca.crt"):
        shutil.copy(certificates / "ca.crt", path)
    access = server.folder / "pg_hba.conf"
    anybody = access.read_text()
    rules = [f"local all {role} scram-sha-256" for role in PASSWORDS]
    access.write_text("\n".join([*rules, anybody]))
    server.run("SELECT pg_reload_conf()")
    yield Page(server, monkeypatch, port, plain_port)
    monkeypatch.undo()
    access.write_text(anybody)
    server.run("SELECT pg_reload_conf()")
    for name in DATABASES:
        server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    for role in PASSWORDS:
        server.run(f"DROP ROLE IF EXISTS {role}")


class Page:
    """Runs the commands that the page on PostgreSQL contains.

    The commands connect with TLS. `psql` and `pg_dump` are built without TLS, so they connect
    without TLS.
    """

    def __init__(self, server, monkeypatch, port, plain_port):
        self._server, self._monkeypatch = server, monkeypatch
        self._port, self._plain_port = port, plain_port
        self._ids = collections.defaultdict(list)
        self.printed = {}
        self.subcommands = []
        monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
        monkeypatch.setenv("PGPORT", str(port))
        monkeypatch.setattr(listening, "serve", self._ask_server)

    def _ask_server(self, application, listener):
        client = TestClient(application, base_url="http://127.0.0.1:8000")
        self.printed["serve"] = client.get("/people").json()

    def write(self, text):
        """Writes a file in the home folder. The first line of `text` names the file."""
        name = re.match(r"# ~/(\S+)\n", text)[1]
        for role, password in PASSWORDS.items():
            text = text.replace(f"{role}:PASSWORD", f"{role}:{password}")
        text = text.replace(":5432:", ":*:")  # the proxies listen on other ports
        path = pathlib.Path.home() / name
        path.write_text(text)
        path.chmod(0o600)

    def sql(self, text):
        """Runs statements in `psql`, and types the passwords. The first line of `text` names the
        role.
        """
        role = re.match(r"-- as the (superuser|owner)", text)[1]
        environment = {name: x for name, x in os.environ.items() if not name.startswith("PG")}
        environment["PGHOST"] = str(self._server.folder)
        if role == "superuser":
            environment |= {"PGUSER": "postgres", "PGDATABASE": "postgres"}
        else:
            environment |= {
                "PGUSER": "family",
                "PGDATABASE": "family",
                "PGPASSWORD": PASSWORDS["family"],
            }
        pathlib.Path("page.sql").write_text(text)
        typed = [PASSWORDS[name] for name in re.findall(r"\\password (\w+)", text)]
        program = [self._server.programs / "psql", "-X", "-v", "ON_ERROR_STOP=1", "-f", "page.sql"]
        self._run(program, environment, "".join(f"{word}\n{word}\n" for word in typed))

    def _run(self, program, environment, typed=None):
        done = subprocess.run(
            program,
            env=environment,
            input=typed,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # without a terminal, `psql` reads passwords from its input
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def bash(self, line, capsys):
        """Runs a line in the shell."""
        if assignment := re.fullmatch(r"(?:export )?(\w+)=(\S+)( +#.*)?", line):
            self._monkeypatch.setenv(assignment[1], assignment[2])
        elif line.startswith("read "):
            typed = f"{PASSWORDS['family']}\n"
            output = self._run(["bash", "-c", f"{line} && printenv PGPASSWORD"], os.environ, typed)
            assert output == typed
        elif re.match(r"(\w+=\w+ )*keras-dml ", line):
            self._command(line, capsys)
        else:
            environment = os.environ | {"PGPORT": str(self._plain_port)}
            environment["PATH"] = f"{self._server.programs}:{environment['PATH']}"
            environment.pop("PGSSLMODE", None)
            self._run(["bash", "-c", line], environment)

    def _command(self, line, capsys):
        before, _, after = line.partition("keras-dml ")
        words = shlex.split(os.path.expandvars(after), comments=True)
        if "ID" in words:
            words[words.index("ID")] = self._ids[
                "recordings" if words[0] == "forget" else "reject"
            ][-1]
        if words[0] == "serve":
            words[words.index("8001")] = "0"
        with self._monkeypatch.context() as variables:
            for name, value in (word.split("=") for word in before.split()):
                variables.setenv(name, value)
            try:
                cli.main(words)
                status = 0
            except SystemExit as stop:
                status = stop.code or 0
        out, err = capsys.readouterr()
        assert status == 0, f"{line}\n{out}\n{err}"
        assert not [password for password in PASSWORDS.values() if password in out + err]
        self._ids[words[0]] = re.findall(ID, out) or self._ids[words[0]]
        self.printed[line.partition(" #")[0].rstrip()] = out
        self.subcommands.append(words[0])


@pytest.mark.slow
def test_the_lines_of_the_page_run_one_after_the_other(family, capsys):
    assert len(blocks()) > 15
    for language, text in blocks():
        if language == "ini":
            family.write(text)
        elif language == "sql":
            family.sql(text)
        else:
            for line in text.splitlines():
                family.bash(line, capsys)
    printed = family.printed
    names = {each["person"] for each in printed["serve"]}
    assert names == {"Alice B.", "carol", "dora", "erin"}
    for name in names:
        assert name in printed['keras-dml people "$RESTORED"']
    assert "alice" in printed['keras-dml identify "$DB" new.csv']
    for name in ("why.svg", "why.png", "family_templates.npz", "watch/decide.py", "people.keys"):
        assert pathlib.Path(name).is_file(), name
    of_galleries = {command.__name__.rpartition(".")[2] for command in cli.COMMANDS}
    assert of_galleries - {*family.subcommands} == {"compare", "backup", "restore"}


@pytest.mark.slow
def test_a_connection_by_tls_is_made_after_tensorflow_was_imported(server, proxies):
    """Without a fix, libpq calls BoringSSL of TensorFlow, which causes a segmentation fault."""
    pytest.importorskip("tensorflow")
    certificates, port, _ = proxies
    options = f"hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={certificates}/ca.crt"
    name = re.match(r"postgresql://postgres@/(\w+)\?", server.database())[1]
    program = (
        "import sys, tensorflow\n"
        "from keras_dml import gallery\n"
        "print(gallery.people(sys.argv[1]))\n"
    )
    url = f"postgresql://postgres@{HOST}:{port}/{name}?{options}"
    done = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr


def test_a_server_with_a_wrong_certificate_is_refused(server, proxies):
    certificates, port, plain_port = proxies
    authority = f"sslrootcert={certificates}/ca.crt"
    for host, number, options in (
        ("db.example.com", port, f"sslmode=verify-full&{authority}"),  # another host
        (HOST, plain_port, f"sslmode=verify-full&{authority}"),  # without TLS
        (HOST, port, "sslmode=verify-full&sslrootcert=nowhere.crt"),
        (HOST, port, "sslmode=disable"),
    ):
        url = f"postgresql://postgres@{host}:{number}/postgres?hostaddr=127.0.0.1&{options}"
        with pytest.raises(OSError, match="cannot be used"):
            galleries.people(url)
