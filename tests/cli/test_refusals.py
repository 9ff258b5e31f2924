"""Tests that wrong use of a command is reported before heavy packages are imported."""

import contextlib
import json
import socket
import subprocess
import sys

import numpy as np
import pytest

from keras_dml.gallery.records import Records

HEAVY = ("keras", "tensorflow", "jax", "scipy", "matplotlib", "fastapi", "sklearn")
CODE = """
import contextlib, io, json, sys
from keras_dml import cli
told = []
for words in json.loads(sys.argv[1]):
    code = 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try: cli.main(words)
        except SystemExit as stop: code = stop.code
    told.append([code, [name for name in json.loads(sys.argv[2]) if name in sys.modules]])
print(json.dumps(told))
"""


@pytest.mark.slow
def test_refusals_load_nothing_heavy(tmp_path):
    with contextlib.closing(Records(tmp_path / "f.db")) as store:
        store.describe({"model": "gait_lda", "fingerprint": "f"})
        store.add("alice", np.ones((2, 3), "float32"))
    with contextlib.closing(Records(tmp_path / "own.db")) as store:  # the model has no card
        store.describe({"model": "own.keras", "fingerprint": "f"})
        store.add("alice", np.ones((2, 3), "float32"))
    walks = tmp_path / "walks" / "alice"
    walks.mkdir(parents=True)
    for path in (tmp_path / "a.csv", tmp_path / "a.docx", walks / "1.csv"):
        path.write_text("x,y\n1,2\n")
    (tmp_path / "phone").mkdir()
    (tmp_path / "phone" / "card.json").write_text("{}")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as busy_socket:
        port = busy_socket.getsockname()[1]
        lines = [
            *("verify gone.db alice a.csv", "verify f.db alice gone.csv"),
            *("verify f.db alice a.docx", "verify own.db alice a.csv", "identify f.db gone.csv"),
            *("verify f.db zoe a.csv --threshold 1", "listen f.db alice a.csv"),
            *("explain f.db alice gone.csv", "calibrate f.db gone", "reject f.db zoe a.csv"),
            *("enroll new.db alice a.docx --model gait_lda", "enroll new.db alice a.csv"),
            "enroll new.db alice gone.csv --model gait_lda",
            *("enroll new.db gone --model gait_lda", "enroll new.db alice a.csv --model gait_ld"),
            *("compare a.csv gone.csv --model gait_lda", "compare a.csv a.csv --model gait_ld"),
            *("train gone --out new", "train walks --out phone", "calibrate new.db walks"),
            *("serve gone.db", f"serve f.db --port {port}", "merge gone.db f.db"),
            *("merge f.db gone.db", "export nothing --to tflite", "info gone.db", "card nothing"),
            *("rename f.db zoe z", "backup gone.db new.db", "restore gone.db new.db"),
        ]
        words = json.dumps([line.split() for line in lines])
        done = subprocess.run(
            [sys.executable, "-c", CODE, words, json.dumps(HEAVY)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )
    result = dict(zip(lines, json.loads(done.stdout), strict=True))
    assert result and result == dict.fromkeys(lines, [2, []])
    assert not (tmp_path / "new.db").exists() and not (tmp_path / "new").exists()
