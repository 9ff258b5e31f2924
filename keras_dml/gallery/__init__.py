"""Galleries of people: verification, identification and rejection of strangers.

A `Gallery` holds people who are enrolled under one model. It is a SQLite file of embeddings, or a
database of PostgreSQL with pgvector. Functions such as `people`, `remove` and `info` work on a
gallery without loading the model. Names load on first use.
"""

from keras_dml import _lazy

_HOME = {
    "Gallery": "gallery",
    "Boundary": "boundary",
    "Candidate": "results",
    "Decision": "results",
    "DeviceGallery": "device",
    "Enrollment": "results",
    "GalleryInfo": "results",
    "GroupRate": "results",
    "Heard": "listening",
    "Identification": "results",
    "Listening": "listening",
    "MeanTemplate": "mean_template",
    "Scale": "results",
    "StoredRecording": "results",
    "Threshold": "results",
    "TooManyTries": "tries",
    "Tries": "tries",
    "accept_older": "backups",
    "backup": "backups",
    "check": "maintenance",
    "exists": "maintenance",
    "export_tflite": "device",
    "forget": "maintenance",
    "hide_password": "store",
    "info": "maintenance",
    "list_recordings": "maintenance",
    "list_rejections": "maintenance",
    "people": "maintenance",
    "purge": "maintenance",
    "remove": "maintenance",
    "remove_threshold": "maintenance",
    "rename": "maintenance",
    "restore": "backups",
    "thresholds": "maintenance",
    "unreject": "maintenance",
}

__all__ = [*_HOME]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
