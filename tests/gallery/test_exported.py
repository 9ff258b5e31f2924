"""Tests that exported templates are readable only by the owner, are read correctly and checked."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest

from keras_dml.gallery import template_files

ABOUT = {"model": "gait", "fingerprint": "f" * 64}
PEOPLE = ["alice", "李小龍", "alice"]
ENROLLED = np.array([True, True, False])
EMBEDDINGS = np.random.default_rng(0).random((3, 2, 4), "float32")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "family.npz"


def write(path, **changed):
    fields = {"about": ABOUT, "people": PEOPLE, "enrolled": ENROLLED, "embeddings": EMBEDDINGS}
    template_files.write(path, **fields | changed)


def test_written_templates_are_read_back(path):
    write(path)
    about, people, enrolled, embeddings = template_files.read(path)
    assert about == {"format": "keras-dml templates", "version": 1, **ABOUT}
    assert people == PEOPLE and enrolled.tolist() == ENROLLED.tolist()
    np.testing.assert_array_equal(embeddings, EMBEDDINGS)


def test_numpy_alone_reads_the_file(path):
    write(path)
    with np.load(path, allow_pickle=False) as file:
        assert sorted(file) == ["embeddings", "enrolled", "header", "people"]
        assert json.loads(file["header"].item())["model"] == "gait"


def test_a_file_without_templates_is_read(path):
    write(path, people=[], enrolled=ENROLLED[:0], embeddings=EMBEDDINGS[:0])
    assert template_files.read(path)[1] == []


@pytest.mark.parametrize("mode", [None, 0o644])
def test_the_file_is_for_its_owner_alone_also_in_place_of_another(path, mode):
    if mode is not None:
        path.write_bytes(b"before")
        path.chmod(mode)
    write(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file_.name for file_ in path.parent.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_earlier_file(path):
    write(path)
    before = path.read_bytes()
    with pytest.raises(ValueError):
        write(path, embeddings=[["no", "numbers"]])
    assert path.read_bytes() == before
    assert [file_.name for file_ in path.parent.iterdir()] == [path.name]


def test_a_missing_file_is_an_error(path):
    with pytest.raises(FileNotFoundError):
        template_files.read(path)


class Trap:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was loaded')",)


def arrays(**changed):
    header = json.dumps({"format": "keras-dml templates", "version": 1, **ABOUT})
    fields = {"header": header, "people": PEOPLE, "enrolled": ENROLLED, "embeddings": EMBEDDINGS}
    file = io.BytesIO()
    np.savez(file, **fields | changed)
    return file.getvalue()


def packed():
    file = io.BytesIO()
    np.savez_compressed(file, header="{}", embeddings=np.zeros((2, 10**6), "float32"))
    return file.getvalue()


def claimed(shape):
    """Returns a file whose header states a shape of embeddings that the file does not contain."""
    file, array = io.BytesIO(arrays()), io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(file) as old:
        members = {member: old.read(member) for member in old.namelist()}
    members["embeddings.npy"] = array.getvalue()
    new = io.BytesIO()
    with zipfile.ZipFile(new, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return new.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged"),
        (b"PK\x03\x04 and nothing", "damaged"),
        (arrays()[:-40], "damaged"),
        (arrays()[:200], "damaged"),
        (packed(), "the file is compressed"),
        (pickle.dumps(Trap()), "damaged"),
        (arrays(people=np.array([Trap()] * 3, object)), "damaged"),
        (arrays(header="no JSON"), "damaged"),
        (arrays(header="[]"), "names no model"),
        (arrays(header=json.dumps({"format": "songs", **ABOUT})), "the format 'songs'"),
        (
            arrays(header=json.dumps({"format": "keras-dml templates", "version": 2, **ABOUT})),
            "version 2, but this release reads version 1",
        ),
        (arrays(people=PEOPLE[:2]), "do not have the shapes"),
        (arrays(enrolled=np.ones((3, 1), bool)), "do not have the shapes"),
        (arrays(embeddings=np.float32(1)), "damaged"),
        (arrays(embeddings=np.ones(3, "float32")), "do not have the shapes"),
        (arrays(embeddings=EMBEDDINGS.astype("float64")), "do not have the data types"),
        (arrays(enrolled=np.ones(3)), "do not have the data types"),
        (arrays(embeddings=np.full((3, 2), np.nan, "float32")), "NaN"),
        (claimed((10**15, 4)), "damaged"),
        (claimed((3, 4)), "damaged"),
    ],
)
def test_invalid_files_are_refused(path, content, message):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"file of templates of keras-dml.*{message}"):
        template_files.read(path)
