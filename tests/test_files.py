"""Tests that files and folders are written atomically, and that writing never deletes unrelated
files."""

import contextlib
import errno
import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

from keras_dml import _files

MEMBERS = ("mark", "parts", "parts/*")
NOBODY = 65534  # id of the user without permissions


def replaceable_folder(path):
    return _files.replaceable_folder(path, "thing", "mark", MEMBERS)


def thing(path, text):
    """Writes a folder of the kind that `replaceable_folder` may replace."""
    (path / "parts").mkdir(parents=True)
    (path / "mark").write_text(text)
    (path / "parts" / "one").write_text(text)


def content(path):
    """Returns the text of a file, or a dictionary of the paths and texts of all files in a
    folder."""
    if path.is_file():
        return path.read_text()
    return {
        each.relative_to(path).as_posix(): each.read_text()
        for each in sorted(path.rglob("*"))
        if each.is_file()
    }


WHOLE = {text: {"mark": text, "parts/one": text} for text in ("old", "new")}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def failing(monkeypatch):
    """Makes the renames with the given numbers fail, either before or after the file is renamed."""

    def fail(numbers, error, after=False):
        seen = []

        def failing(do):
            def rename(*args, **options):
                seen.append(args)
                if len(seen) not in numbers:
                    return do(*args, **options)
                if after:
                    do(*args, **options)
                raise error

            return rename

        for name in ("rename", "replace"):
            monkeypatch.setattr(os, name, failing(getattr(os, name)))
        return seen

    return fail


ERRORS = [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=["error", "interrupt"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_whichever_rename_fails_a_whole_folder_is_there(tmp_path, failing, number, after, error):
    thing(tmp_path / "thing", "old")
    failing({number}, error, after)
    with (
        pytest.raises(type(error)),
        _files.staged(tmp_path / "thing", replaceable_folder) as candidate,
    ):
        thing(candidate, "new")
    done = number == 2 and after
    assert content(tmp_path / "thing") == WHOLE["new" if done else "old"]
    assert names(tmp_path) == ["thing"]


def test_a_folder_that_cannot_be_put_back_is_kept_until_it_can(tmp_path, failing):
    thing(tmp_path / "thing", "old")
    failing({2, 3}, OSError(errno.EIO, "Input/output error"))
    with pytest.raises(OSError), _files.staged(tmp_path / "thing", replaceable_folder) as candidate:
        thing(candidate, "new")
    assert not (tmp_path / "thing").exists()
    with pytest.raises(ZeroDivisionError), _files.staged(tmp_path / "thing", replaceable_folder):
        raise ZeroDivisionError
    assert content(tmp_path / "thing") == WHOLE["old"]
    assert names(tmp_path) == ["thing"]


@pytest.mark.parametrize("error", ERRORS, ids=["error", "interrupt"])
def test_a_file_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, failing, error):
    (tmp_path / "notes.txt").write_text("old")
    failing({1}, error)
    with pytest.raises(type(error)):
        _files.write_text(tmp_path / "notes.txt", "new")
    assert content(tmp_path) == {"notes.txt": "old"}


def test_a_file_is_replaced_whatever_its_name(tmp_path):
    for name in ("lock", "new", "replaced", "a[b]*.txt", "ü" * 50):
        for text in ("first", "second"):
            _files.write_text(tmp_path / name, text)
            assert (tmp_path / name).read_text() == text
    assert len(names(tmp_path)) == 5


KILLED = """
    import os, pathlib, signal, sys
    from keras_dml import _files
    from keras_dml._files import tmp_dirs
    from tests.test_files import replaceable_folder, thing

    path, moment = pathlib.Path(sys.argv[1]), sys.argv[2]

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def replace(*args):
        die()

    if moment == "before the lock":
        tmp_dirs._locked = lambda *args: die()
    if moment == "between the renames":
        os.replace = replace
    if moment == "after the renames":
        tmp_dirs._remove = replace
    place = _files.replaceable_file if path.suffix else replaceable_folder
    with _files.staged(path, place) as candidate:
        candidate.write_text("half") if path.suffix else thing(candidate, "new")
        if moment == "while it writes":
            die()
        if moment == "alive":
            print("writing", flush=True)
            sys.stdin.readline()
"""


def process(path, moment):
    code = "\n".join(line[4:] for line in KILLED.splitlines())
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), moment],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=pathlib.Path(__file__).parent.parent,
    )


@pytest.mark.parametrize("name", ["notes.txt", "thing"])
@pytest.mark.parametrize(
    "moment", ["before the lock", "while it writes", "between the renames", "after the renames"]
)
def test_the_next_run_clears_what_a_killed_one_left(tmp_path, name, moment):
    path = tmp_path / name
    path.write_text("old") if path.suffix else thing(path, "old")
    with process(path, moment) as killed:
        assert killed.wait(60) == -signal.SIGKILL
    assert len(names(tmp_path)) == (1 if moment == "between the renames" and not path.suffix else 2)
    with contextlib.suppress(ZeroDivisionError):
        with _files.staged(path, _files.replaceable_file if path.suffix else replaceable_folder):
            raise ZeroDivisionError  # the next run may fail too
    is_new = moment == "after the renames"
    wanted = "half" if is_new else "old"
    assert content(path) == (wanted if path.suffix else WHOLE["new" if is_new else "old"])
    assert names(tmp_path) == [name]


@pytest.mark.parametrize("name", ["notes.txt", "thing"])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_next_run_clears_what_an_interrupted_cleanup_left(
    tmp_path, monkeypatch, name, backwards
):
    """Tests that the next run completes an interrupted cleanup. The test repeats the cleanup, and
    interrupts it after one deletion, after two deletions, and so on. A system may list a folder in
    two orders, and the test uses both.
    """
    path = tmp_path / name
    place = _files.replaceable_file if path.suffix else replaceable_folder
    monkeypatch.setattr(os, "scandir", sorted_scandir(os.scandir, backwards))
    for number in range(1, 20):
        with pytest.MonkeyPatch.context() as patch:
            seen = interrupt_deletions(patch, number)
            with contextlib.suppress(KeyboardInterrupt), _files.staged(path, place) as candidate:
                candidate.write_text("new") if path.suffix else thing(candidate, "new")
        with contextlib.suppress(ZeroDivisionError), _files.staged(path, place):
            raise ZeroDivisionError
        assert names(tmp_path) == [name], f"after {number} deletions"
        if len(seen) < number:
            return
    raise AssertionError("the cleanup never ended")


def interrupt_deletions(patch, number):
    """Raises KeyboardInterrupt after the given number of deletions. Returns a list of the
    deletions."""
    seen = []

    def interrupted(do):
        def delete(*args, **options):
            do(*args, **options)
            seen.append(args)
            if len(seen) == number:
                raise KeyboardInterrupt

        return delete

    for name in ("unlink", "rmdir"):
        patch.setattr(os, name, interrupted(getattr(os, name)))
    return seen


def sorted_scandir(scandir, backwards):
    @contextlib.contextmanager
    def scandir_in_order(path):
        with scandir(path) as entries:
            yield iter(sorted(entries, key=lambda entry: entry.name, reverse=backwards))

    return scandir_in_order


def test_what_another_run_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    with process(path, "alive") as second:
        assert second.stdout.readline() == "writing\n"
        _files.write_text(path, "mine")
        assert path.read_text() == "mine" and len(names(tmp_path)) == 2
        second.communicate("go on\n", 60)
    assert second.returncode == 0 and path.read_text() == "half"
    assert names(tmp_path) == ["notes.txt"]


def test_a_temporary_folder_of_another_file_is_left_alone(tmp_path):
    rest = [".notes.txt.settings", ".notes.txt.incomplete-of-mine", ".notes.incomplete-abcdefgh"]
    for name in rest:
        (tmp_path / name).mkdir()
    _files.write_text(tmp_path / "notes.txt", "mine")
    assert names(tmp_path) == sorted([*rest, "notes.txt"])


def test_threads_that_write_one_file_leave_it_whole(tmp_path):
    texts = [letter * 10_000 for letter in "abcdefgh"]
    threads = [
        threading.Thread(target=_files.write_text, args=(tmp_path / "notes.txt", text))
        for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "notes.txt").read_text() in texts and names(tmp_path) == ["notes.txt"]


def test_permissions_are_those_of_an_ordinary_file_or_of_the_one_before(tmp_path):
    remaining = os.umask(0o027)
    try:
        (tmp_path / "plain.txt").touch()
        _files.write_text(tmp_path / "notes.txt", "new")
        assert mode(tmp_path / "notes.txt") == mode(tmp_path / "plain.txt") == 0o640
        (tmp_path / "notes.txt").chmod(0o604)
        _files.write_text(tmp_path / "notes.txt", "again")
        assert mode(tmp_path / "notes.txt") == 0o604
    finally:
        os.umask(remaining)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="Windows has no such users")
def test_a_read_only_folder_is_left_and_nothing_beside_it():
    """Tests an ordinary user, because root may write to read-only folders."""
    root = os.geteuid() == 0
    with tempfile.TemporaryDirectory() as parent:
        target = pathlib.Path(parent, "model")
        target.mkdir()
        (target / "old").touch()
        if root:
            for path in (parent, target):
                os.chown(path, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            target.chmod(0o555)
            with pytest.raises(PermissionError), _files.staged(target, pathlib.Path) as candidate:
                candidate.mkdir()
                (candidate / "new").touch()
        finally:
            if root:
                os.seteuid(0)
            target.chmod(0o755)
        assert [path.name for path in pathlib.Path(parent).rglob("*")] == ["model", "old"]


@pytest.mark.parametrize("path", ["", ".", "..", "/", "//", "folder/", "folder/..", "folder/."])
def test_a_path_that_ends_in_no_name_is_refused(tmp_path, monkeypatch, path):
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    with pytest.raises(ValueError, match="must end in a name. Received"):
        _files.replaceable_file(path)


@pytest.mark.parametrize("place", [_files.replaceable_file, replaceable_folder])
def test_a_path_with_a_null_character_is_refused(place):
    with pytest.raises(ValueError, match=r"null character. Received 'a\\x00b'"):
        place("a\0b")


@pytest.mark.parametrize("path", ["", ".", "..", "/", "//", "folder/..", "folder/./"])
def test_a_folder_without_a_name_is_refused(tmp_path, monkeypatch, path):
    thing(tmp_path, "the user's")  # the user's folder, which `.` and `folder/..` would replace
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="path of a folder must end in a name. Received"):
        replaceable_folder(path)
    assert replaceable_folder("new/") == pathlib.Path("new")


@pytest.fixture
def places(tmp_path):
    """Returns a dictionary of paths that a new file must not replace. The keys describe what exists
    at each path."""
    made = {name: tmp_path / name for name in ("a folder", "a pipe", "a socket", "a link")}
    (tmp_path / "a folder").mkdir()
    (tmp_path / "a folder" / "notes.txt").write_text("mine")
    os.mkfifo(made["a pipe"])
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("a socket")
    made["a link"].symlink_to(tmp_path / "nothing")
    made["a device"] = tmp_path / "link to a device"
    made["a device"].symlink_to("/dev/null")
    return made


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "a socket", "a device", "a link"])
def test_what_is_no_regular_file_is_refused_and_left(tmp_path, places, kind):
    before = names(tmp_path)
    with pytest.raises(ValueError, match=f"is {kind}.*was not changed"):
        _files.write_text(places[kind], "new")
    if kind != "a folder":
        with pytest.raises(ValueError, match=r"is a\b.*was not changed"):
            replaceable_folder(places[kind])
    assert names(tmp_path) == before
    assert content(tmp_path / "a folder") == {"notes.txt": "mine"}


def test_a_device_is_no_place_for_a_file():
    with pytest.raises(ValueError, match="'/dev/null' is a device, so it was not changed"):
        _files.replaceable_file("/dev/null")


@pytest.fixture(params=["descriptor", "process", "folder", "link", "linked folder", "new"])
def kernel_path(request, tmp_path):
    """Returns a path to `notes.txt` or to a new file. The path leads through a folder of the
    operating system's kernel.
    """
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "links").mkdir()
    with (tmp_path / "notes.txt").open() as file:
        descriptor = pathlib.Path(f"/proc/self/fd/{file.fileno()}")
        if not descriptor.exists():
            pytest.skip("This system has no /proc.")
        (tmp_path / "links" / "descriptor").symlink_to(descriptor)
        (tmp_path / "links" / "inner").symlink_to("outer")
        (tmp_path / "links" / "outer").symlink_to(descriptor.parent)
        yield {
            "descriptor": pathlib.Path(f"/dev/fd/{file.fileno()}"),
            "process": descriptor,
            "folder": pathlib.Path(f"/proc/self/root{tmp_path}/notes.txt"),
            "link": tmp_path / "links" / "descriptor",
            "linked folder": tmp_path / "links" / "inner" / descriptor.name,
            "new": pathlib.Path(f"/proc/self/root{tmp_path}/new"),
        }[request.param]


def test_no_file_is_replaced_through_a_folder_of_the_kernel(tmp_path, kernel_path):
    for path in (kernel_path, os.path.relpath(kernel_path)):
        with pytest.raises(ValueError, match="leads through /(dev|proc), .* was not changed"):
            _files.write_text(path, "new")
        with pytest.raises(ValueError, match="not changed"):
            replaceable_folder(path)
    assert names(tmp_path) == ["links", "notes.txt"]
    assert content(tmp_path / "notes.txt") == "mine"


def test_redirected_output_is_not_replaced(tmp_path):
    code = "import sys; from keras_dml import _files; _files.write_text(sys.argv[1], 'new')"
    for path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        with (tmp_path / "log.txt").open("w") as log:
            done = subprocess.run(
                [sys.executable, "-c", code, path], stdout=log, stderr=subprocess.PIPE, text=True
            )
        assert "ValueError: " in done.stderr and path in done.stderr
        assert content(tmp_path) == {"log.txt": ""}


def test_files_in_shared_memory_are_written(monkeypatch):
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("This system has no /dev/shm.")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        monkeypatch.chdir(folder)
        for path in (pathlib.Path(folder, "notes.txt"), "notes.txt"):
            _files.write_text(path, "new")
        assert content(pathlib.Path(folder)) == {"notes.txt": "new"}
        monkeypatch.undo()


def test_what_comes_while_a_file_is_written_is_left(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        with _files.staged(tmp_path / "notes.txt") as candidate:
            candidate.write_text("new")
            thing(tmp_path / "notes.txt", "old")
    assert content(tmp_path / "notes.txt") == WHOLE["old"]
    assert names(tmp_path) == ["notes.txt"]


def test_a_link_to_a_file_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "file.txt").write_text("old")
    (tmp_path / "here" / "link").symlink_to("../file.txt")
    _files.write_text(tmp_path / "here" / "link", "new")
    assert (tmp_path / "here" / "link").is_symlink()
    assert (tmp_path / "file.txt").read_text() == "new"
    assert names(tmp_path) == ["file.txt", "here"] and names(tmp_path / "here") == ["link"]


def test_a_link_to_a_folder_is_no_folder_to_replace(tmp_path):
    thing(tmp_path / "thing", "old")
    (tmp_path / "link").symlink_to("thing")
    for path in ("link", "link/"):
        with pytest.raises(ValueError, match="is a link"):
            replaceable_folder(f"{tmp_path}/{path}")


@pytest.mark.parametrize("foreign", ["notes.txt", "drafts", ".git", "parts2"])
def test_a_folder_with_something_foreign_is_left(tmp_path, foreign):
    thing(tmp_path / "thing", "old")
    (tmp_path / "thing" / foreign).mkdir()
    with pytest.raises(ValueError, match=f"holds '{foreign}', which is not part of a thing"):
        replaceable_folder(tmp_path / "thing")


def test_a_folder_is_asked_for_that_holds_the_new_one(tmp_path):
    for place in (_files.replaceable_file, replaceable_folder):
        with pytest.raises(FileNotFoundError, match="folder '.*none' for 'new' does not exist"):
            place(tmp_path / "none" / "new")


FULL = """
    import resource, sys
    from keras_dml import _files

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    _files.write_text(sys.argv[1], "new" * 1000)
"""


def test_the_error_of_a_full_disk_names_the_path_and_nothing_is_left(tmp_path):
    (tmp_path / "notes.txt").write_text("old")
    code = "\n".join(line[4:] for line in FULL.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "notes.txt")], capture_output=True, text=True
    )
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("OSError")
    assert "notes.txt' was not written: File too large" in message
    assert content(tmp_path) == {"notes.txt": "old"}


def test_a_file_written_by_an_archiver_is_whole(tmp_path):
    with _files.staged(tmp_path / "table.npz") as candidate:
        np.savez(candidate, x=np.eye(3))
    with np.load(tmp_path / "table.npz") as file:
        np.testing.assert_array_equal(file["x"], np.eye(3))
