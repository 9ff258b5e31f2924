"""Tests that `recordings.folder` lists the recordings of people in folders and in tables."""

import unicodedata

import pytest

from keras_dml import recordings


def touched(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


def listed(path):
    return [
        (file.person, file.session, file.path.name) for file in recordings.folder(path).recordings
    ]


def test_people_are_folders_and_sessions_are_folders_in_them(tmp_path):
    touched(tmp_path, "bob/monday/1.csv", "bob/2.wav", "alice/b.npy", "alice/a.CSV")
    assert listed(tmp_path) == [
        ("alice", None, "a.CSV"),
        ("alice", None, "b.npy"),
        ("bob", None, "2.wav"),
        ("bob", "monday", "1.csv"),
    ]
    assert recordings.folder(tmp_path).people == ("alice", "bob")


def test_other_files_are_listed_as_skipped(tmp_path):
    touched(tmp_path, "alice/1.csv", "alice/notes.txt", "README.md", "alice/.DS_Store", ".a/1.csv")
    skipped = recordings.folder(tmp_path).skipped
    assert [path.name for path in skipped] == ["README.md", "notes.txt"]
    assert listed(tmp_path) == [("alice", None, "1.csv")]


def test_names_with_composed_and_decomposed_accents_are_equal(tmp_path):
    touched(tmp_path, unicodedata.normalize("NFD", "zoë") + "/1.csv")
    assert recordings.folder(tmp_path).people == (unicodedata.normalize("NFC", "zoë"),)


def test_a_link_to_a_folder_of_a_person_is_followed(tmp_path):
    touched(tmp_path, "elsewhere/1.csv")
    (tmp_path / "walks").mkdir()
    (tmp_path / "walks" / "alice").symlink_to(tmp_path / "elsewhere")
    assert listed(tmp_path / "walks") == [("alice", None, "1.csv")]


@pytest.mark.parametrize("names", [[], ["1.csv"], ["alice/1.txt"]])
def test_a_folder_without_people_is_refused_with_an_example(tmp_path, names):
    with pytest.raises(ValueError, match="holds no recordings of people.*alice/walk1.csv"):
        recordings.folder(touched(tmp_path, *names))


def test_files_that_lie_too_deep_are_refused(tmp_path):
    touched(tmp_path, "alice/monday/morning/1.csv")
    with pytest.raises(ValueError, match="morning is too deep"):
        recordings.folder(tmp_path)


def table(root, text):
    touched(root, "files/a.csv", "files/b.csv")
    (root / "people.csv").write_text(text)
    return root / "people.csv"


def test_a_table_names_files_people_and_sessions(tmp_path):
    path = table(tmp_path, "person,path,session,age\nbob,files/b.csv,2,30\nalice,files/a.csv,,\n")
    assert listed(path) == [("alice", None, "a.csv"), ("bob", "2", "b.csv")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,name\nfiles/a.csv,a\n", "line 1: the columns are path, name"),
        ("path,person,person\nfiles/a.csv,a,b\n", "line 1: the columns"),
        ("path,person\nfiles/a.csv,\n", "line 2: the person is empty"),
        ("path,person\n,a\n", "line 2: the path is empty"),
        ("path,person\nfiles/a.csv,a\nfiles/a.csv,b\n", "line 3: files/a.csv is also in line 2"),
        ("path,person\nfiles/a.csv\n", "line 2 has 1 fields"),
        ("path,person\n", "holds no recordings of people"),
    ],
)
def test_the_error_about_a_table_names_the_line(tmp_path, text, message):
    with pytest.raises(ValueError) as caught:
        recordings.folder(table(tmp_path, text))
    assert message in str(caught.value) and "people.csv" in str(caught.value)


def test_the_error_about_a_missing_file_names_the_line(tmp_path):
    with pytest.raises(FileNotFoundError, match="line 2: .*files/c.csv"):
        recordings.folder(table(tmp_path, "path,person\nfiles/c.csv,a\n"))
    with pytest.raises(ValueError, match="The name of the folder is empty"):
        recordings.folder("")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        recordings.folder(tmp_path / "gone")


def test_a_file_that_is_not_a_table_is_refused(tmp_path):
    touched(tmp_path, "walk.wav")
    with pytest.raises(ValueError, match="neither a folder of people nor a table"):
        recordings.folder(tmp_path / "walk.wav")


def test_recordings_are_in_the_order_of_people_sessions_and_paths(tmp_path):
    touched(tmp_path, "files/c.csv", "files/d.csv")
    lines = ["files/b.csv,ann,1", "files/a.csv,ann,2", "files/d.csv,ann,1", "files/c.csv,ann,"]
    expected = [("ann", None, "c.csv"), ("ann", "1", "b.csv"), ("ann", "1", "d.csv")]
    expected.append(("ann", "2", "a.csv"))
    for order in (lines, lines[::-1]):
        path = table(tmp_path, "\n".join(["path,person,session", *order]) + "\n")
        assert listed(path) == expected
