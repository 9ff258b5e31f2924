"""Tests that encrypted galleries store no plain embeddings, refuse wrong keys and print no keys."""

import base64
import logging
import pathlib
import sqlite3
import subprocess
import sys
import traceback

import numpy as np
import pytest

from keras_dml.gallery import encryption
from keras_dml.gallery.records import Records

KEY, OTHER = bytes(range(32)), bytes(range(32, 64))
ALICE, BOB = (f"(SELECT id FROM people WHERE name = '{name}')" for name in ("alice", "bob"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.db"


def embeddings(count, seed=0):
    return np.random.default_rng(seed).random((count, 2, 3), "float32")


def opened(path, key=KEY):
    store = Records(path, key)
    store.describe({"model": "m", "fingerprint": "f"})
    return store


@pytest.fixture
def filled(path):
    store = opened(path)
    store.add("alice", embeddings(2, 1))
    store.add("bob", embeddings(2, 2))
    store.add("bob", embeddings(1, 3), enrolled=False)
    store.close()
    return path


def changed(path, statement, *values):
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_no_number_of_a_template_is_in_the_files(filled):
    store = opened(filled)
    store.add("carol", embeddings(1, 4))  # this person is in the log of changes
    names, _, flat = store.templates()
    assert names == ["alice"] * 2 + ["bob"] * 3 + ["carol"]
    np.testing.assert_array_equal(flat[:2], embeddings(2, 1).reshape(2, 6))
    content = b"".join(file.read_bytes() for file in filled.parent.iterdir())
    store.close()
    assert b"alice" in content  # names are not encrypted, as documented
    for row in flat:
        assert row.tobytes()[:8] not in content and row.tobytes()[-8:] not in content
    assert KEY not in content and base64.b64encode(KEY) not in content


@pytest.mark.parametrize("keep", ["bytes", "raw", "base64", "environment", "keyring"])
def test_a_key_comes_from_many_places(filled, tmp_path, monkeypatch, keep):
    place, text = tmp_path / "family.key", base64.b64encode(KEY).decode()
    key = {"bytes": KEY, "environment": None, "keyring": "keyring:family"}.get(keep, place)
    if keep == "environment":
        monkeypatch.setenv(encryption.ENVIRONMENT, text)
    elif keep == "keyring":
        passwords = {("keras-dml", "family"): text}
        fake = type(sys)("keyring")
        fake.get_password = lambda service, name: passwords.get((service, name))
        monkeypatch.setitem(sys.modules, "keyring", fake)
    else:
        place.touch(mode=0o600)
        place.write_bytes(KEY if keep == "raw" else f"{text}\n".encode())
    store = Records(filled, key)
    assert store.people() == {"alice": 2, "bob": 2}
    store.close()


def test_another_key_is_refused_at_opening(filled):
    with pytest.raises(ValueError, match="the gallery was made with another key"):
        Records(filled, OTHER)


def test_an_encrypted_gallery_without_its_key_is_refused(filled):
    with pytest.raises(ValueError, match="is encrypted. Give its key by `key` or by KERAS_DML_"):
        Records(filled)


def test_a_key_for_an_unencrypted_gallery_is_refused(path, monkeypatch):
    opened(path, None).close()
    with pytest.raises(ValueError, match="is not encrypted, but a key was given"):
        Records(path, KEY)
    monkeypatch.setenv(encryption.ENVIRONMENT, base64.b64encode(KEY).decode())
    with pytest.raises(ValueError, match="is not encrypted, but a key was given"):
        Records(path)


def test_a_gallery_cannot_be_created_with_two_keys_at_once(path):
    first, second = Records(path, KEY), Records(path, OTHER)
    first.describe({"model": "m", "fingerprint": "f"})
    with pytest.raises(ValueError, match="made with another key"):
        second.describe({"model": "m", "fingerprint": "f"})
    plain = Records(path, KEY)
    plain.close(), first.close(), second.close()


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (b"short", ValueError, "`key` must be 32 random bytes"),
        (b"", ValueError, "openssl rand -base64 32"),
        ("/nowhere/family.key", FileNotFoundError, "names no file that can be read"),
        ("a\0b", FileNotFoundError, "names no file that can be read"),
        (".", FileNotFoundError, "names no file that can be read"),
        (7, TypeError, "`key` is of type int, .* 32 bytes, the path of a file, or 'keyring:NAME'"),
    ],
)
def test_an_invalid_key_is_refused_before_a_file_is_created(path, key, error, message):
    with pytest.raises(error, match=message):
        Records(path, key)
    assert not path.exists()


@pytest.mark.parametrize("text", ["", "secret", base64.b64encode(b"x" * 31).decode()])
def test_an_invalid_key_in_the_environment_does_not_give_a_plain_gallery(path, monkeypatch, text):
    monkeypatch.setenv(encryption.ENVIRONMENT, text)
    with pytest.raises(ValueError, match="KERAS_DML_GALLERY_KEY must be 32 random bytes"):
        Records(path)


def test_a_keyring_without_the_password_is_refused(path, monkeypatch):
    fake = type(sys)("keyring")
    fake.get_password = lambda service, name: None
    monkeypatch.setitem(sys.modules, "keyring", fake)
    with pytest.raises(ValueError, match="keyring set keras-dml NAME"):
        Records(path, "keyring:family")


@pytest.mark.parametrize(
    ("module", "message"), [("cryptography", "keras-dml.encryption"), ("keyring", "pip install")]
)
def test_a_missing_package_is_named(path, monkeypatch, module, message):
    for name in [imported for imported in sys.modules if imported.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        Records(path, KEY if module == "cryptography" else "keyring:family")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE people SET name = 'mallory' WHERE name = 'bob'",  # a renamed person
        f"UPDATE templates SET person = {ALICE}",  # templates moved to another person
        "UPDATE templates SET enrolled = 1 - enrolled",  # an imposter that is enrolled now
        "UPDATE templates SET embedding = substr(embedding, 1, 20)",  # truncated
        "UPDATE templates SET embedding = CAST('0' || substr(embedding, 2) AS BLOB)",
        "UPDATE templates SET embedding = zeroblob(24)",  # not encrypted
        f"UPDATE keys SET wrapped = (SELECT wrapped FROM keys WHERE person = {ALICE}) "
        f"WHERE person = {BOB}",
    ],
)
def test_changed_or_moved_ciphertexts_are_refused(filled, statement):
    changed(filled, statement)
    store = Records(filled, KEY)
    with pytest.raises(ValueError, match="cannot be decrypted: .* changed, moved or damaged"):
        store.templates()
    store.close()


def test_key_rows_of_another_gallery_are_refused(filled, tmp_path):
    second = tmp_path / "other.db"
    opened(second).close()
    connection = sqlite3.connect(second)
    connection.execute(f"ATTACH '{filled}' AS victim")
    for table in ("people", "templates"):
        connection.execute(f"INSERT INTO {table} SELECT * FROM victim.{table}")
    connection.execute(
        "INSERT INTO keys SELECT (SELECT gallery FROM keys), person, wrapped FROM victim.keys"
        " WHERE person > 0"
    )
    connection.commit()
    connection.close()
    store = Records(second, KEY)
    with pytest.raises(ValueError, match="cannot be decrypted"):
        store.templates()
    store.close()


def test_a_person_without_a_key_is_forgotten_and_can_be_enrolled_again(filled):
    changed(filled, f"DELETE FROM keys WHERE person = {BOB}")
    store = Records(filled, KEY)
    assert set(store.templates()[0]) == {"alice"}
    assert store.add("bob", embeddings(1, 5)) == 1
    names, _, flat = store.templates()
    assert names == ["alice", "alice", "bob"]
    np.testing.assert_array_equal(flat[2], embeddings(1, 5).ravel())
    store.close()


def test_a_removed_person_leaves_neither_key_nor_template(filled):
    connection = sqlite3.connect(filled)
    query = f"SELECT wrapped FROM keys WHERE person = {BOB} UNION SELECT embedding FROM templates"
    secrets = [blob for (blob,) in connection.execute(f"{query} WHERE person = {BOB}")]
    connection.close()
    store = Records(filled, KEY)
    store.remove("bob")
    content = b"".join(file.read_bytes() for file in filled.parent.iterdir())
    assert len(secrets) == 4 and not [secret_ for secret_ in secrets if secret_[:16] in content]
    store.close()


def test_merging_twice_adds_no_embedding_twice_in_an_encrypted_gallery(filled):
    store = Records(filled, KEY)
    assert store.add_all(*store.templates()) == {}
    assert store.people() == {"alice": 2, "bob": 2}
    store.close()


def test_a_plain_gallery_is_encrypted_by_merging_it(path, tmp_path):
    plain, sealed = opened(tmp_path / "plain.db", None), opened(path)
    plain.add("alice", embeddings(2))
    assert sealed.add_all(*plain.templates()) == {"alice": 2}
    np.testing.assert_array_equal(sealed.templates()[2], plain.templates()[2])
    plain.close(), sealed.close()


def test_the_same_template_is_never_encrypted_the_same(path):
    store = opened(path)
    store.add("alice", embeddings(1))
    store.add("alice", embeddings(1))
    store.close()
    rows = sqlite3.connect(path).execute("SELECT embedding FROM templates").fetchall()
    assert len(set(rows)) == 2


def test_no_message_or_repr_holds_a_key_or_template(filled, tmp_path, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    secret = base64.b64encode(KEY).decode()
    messages = []

    def attempt(function, *args):
        try:
            function(*args)
        except Exception as error:
            messages.append("".join(traceback.format_exception(error)))

    short = base64.b64encode(KEY[:-1])
    attempt(Records, filled, OTHER)
    attempt(Records, filled, secret)  # a key in place of a path
    attempt(Records, filled, short)
    attempt(Records, filled, [KEY])
    attempt(Records, tmp_path / "new.db", str(KEY))
    store = Records(filled, KEY)
    attempt(store.add, None, embeddings(1))
    changed(filled, "UPDATE templates SET embedding = zeroblob(24)")
    attempt(store.templates)
    assert len(messages) == 7
    person = store._keys.new(lambda *_: None, 9, "carol")
    messages += [
        repr(thing) for thing in (store, vars(store), store._keys, vars(store._keys), person)
    ]
    messages += [repr(vars(person)), str(store._keys), caplog.text, *capfd.readouterr()]
    store.close()
    numbers = [f"{value:.5f}"[2:] for value in embeddings(1).ravel()]
    for text in messages:
        for part in (secret[:12], secret[-12:], repr(KEY)[2:40], KEY.hex()[:16], short.decode()):
            assert part not in text
        assert not [number for number in numbers if number in text]


def test_cryptography_is_not_imported_without_a_key(tmp_path):
    code = (
        "import sys; from keras_dml.gallery.records import Records; "
        f"Records({str(tmp_path / 'plain.db')!r}).close(); assert 'cryptography' not in sys.modules"
    )
    root = pathlib.Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)
