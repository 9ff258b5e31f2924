"""Tests that class ids of any dtype are replaced by int32 ids from 0, in sorted order."""

import numpy as np
import pytest

from keras_dml.samplers import _ids
from keras_dml.samplers._ids import dense_ids

SAME_PATTERN = {  # every entry has the pattern 1, 0, 1, 2
    "strings": ["bob", "ann", "bob", "cid"],
    "string array": np.array(["bob", "ann", "bob", "cid"]),
    "bytes": [b"bob", b"ann", b"bob", b"cid"],
    "integers beyond float32": [2**24 + 1, 2**24, 2**24 + 1, 2**24 + 2],
    "integers beyond int64": [2**63, -1, 2**63, 2**70],
    "unsigned": np.array([2**64 - 2, 0, 2**64 - 2, 2**64 - 1], "uint64"),
    "column": np.array([[7], [-3], [7], [9]]),
    "list of columns": [[7], [-3], [7], [9]],
    "floats": np.array([7.0, -3.0, 7.0, 9.0], "float32"),
    "floats beside integers": [7.0, -3, 7, 9],
    "scalars": [np.int64(7), np.int8(-3), np.uint8(7), np.float64(9)],
    "objects": np.array(["bob", "ann", "bob", "cid"], object),
}


@pytest.mark.parametrize("values", SAME_PATTERN.values(), ids=SAME_PATTERN)
def test_ids_of_any_dtype_become_dense(values):
    ids, names = dense_ids("y", values, 4)
    assert ids.dtype == np.int32 and ids.tolist() == [1, 0, 1, 2]
    assert [names[i] for i in ids] == np.ravel(np.asarray(values, object)).tolist()


def test_booleans_are_two_classes():
    assert dense_ids("y", np.array([True, False, True]), 3)[0].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.5, 1.0], r"Received 0\.5 at index 0\. A float must be a whole number"),
        ([1.0, float("nan")], r"Received nan at index 1"),
        ([1.0, float("inf")], r"Received inf at index 1"),
        (np.array([1.0, 2.0**24], "float32"), r"at index 1.* below 2\*\*24"),
        ([1.0, 2.0**53], r"at index 1.* below 2\*\*53"),
        (np.eye(2), r"Received shape \(2, 2\)\. .* `y\.argmax\(axis=1\)`"),
        (7, r"Received shape \(\)"),
        ([1, 2, 3], r"Received 3 ids for the 2 recordings"),
    ],
)
def test_ids_that_are_not_ids_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        dense_ids("y", values, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["ann", 3], r"ids of one kind.* Received: int, str\. .*strings first"),
        (["ann", b"ann"], r"Received: bytes, str"),
        (np.array([1j, 2]), r"Received dtype complex128"),
    ],
)
def test_ids_of_no_common_kind_are_refused(values, message):
    with pytest.raises(TypeError, match=message):
        dense_ids("sessions", values, 2)


def test_more_ids_than_float32_tells_apart_are_refused(monkeypatch):
    monkeypatch.setattr(_ids, "FLOAT32_EXACT", 3)
    with pytest.raises(ValueError, match=r"fewer than 3 distinct ids.* Received: 3"):
        dense_ids("y", [5, 6, 7], 3)
