"""Spellings of arguments and functions of the library in messages of the REST interface."""

NAMES = {
    "calibrate()": "`keras-dml calibrate`",
    "calibrate_listening()": "`keras-dml calibrate --window SECONDS`",
    "enroll()": "`keras-dml enroll`",
    "people()": "GET /people",
    "purge()": "`keras-dml people`",
    "reject()": "`keras-dml reject`",
    "resample_hz": "`resample`",
    "scores": "",  # no score may reach a client
    "Gallery.forget()": "`keras-dml forget`",
}
