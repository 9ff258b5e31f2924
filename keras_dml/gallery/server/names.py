"""Spellings of arguments and functions of the library in messages of the REST interface."""

NAMES = {
    "calibrate()": "`keras-dml calibrate`",
    "calibrate_listening()": "`keras-dml calibrate --window SECONDS`",
    "enroll()": "`keras-dml enroll`",
    "people()": "GET /people",
    "proposals.list()": "GET /proposals",
    "purge()": "`keras-dml people`",
    "reject()": "`keras-dml reject`",
    "resample_hz": "`resample`",
    "strangers.list()": "GET /strangers",
    "scores": "",  # no score may reach a client
    "days": "`days`",
    "list_recordings()": "GET /people/PERSON/recordings",
    "Gallery.forget()": "`keras-dml forget`",
}
