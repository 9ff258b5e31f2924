"""People enrolled under one model, kept in a file or on a server: who is it, is it the one who is
claimed, or a stranger?

A `Gallery` is a SQLite file of embeddings, or a database of PostgreSQL with pgvector. It needs the
model only where a recording is embedded.
"""

from keras_dml import _lazy

_HOME = {
    "Gallery": "_gallery",
    "Boundary": "_boundary",
    "Candidate": "_results",
    "Decision": "_results",
    "DeviceGallery": "_device",
    "Enrollment": "_results",
    "GalleryInfo": "_results",
    "GroupRate": "_results",
    "Heard": "_listening",
    "Identification": "_results",
    "Listening": "_listening",
    "MeanTemplate": "_mean_template",
    "Scale": "_closeness",
    "StoredRecording": "_results",
    "Threshold": "_results",
    "TooManyTries": "_tries",
    "Tries": "_tries",
    "accept_older": "_backups",
    "backup": "_backups",
    "check": "_without_model",
    "exists": "_without_model",
    "export_tflite": "_device",
    "forget": "_without_model",
    "hide_password": "_places",
    "info": "_without_model",
    "list_recordings": "_without_model",
    "list_rejections": "_without_model",
    "people": "_without_model",
    "purge": "_without_model",
    "remove": "_without_model",
    "remove_threshold": "_without_model",
    "rename": "_without_model",
    "restore": "_backups",
    "thresholds": "_without_model",
    "unreject": "_without_model",
}

__all__ = [*_HOME]
__getattr__, __dir__ = _lazy.attach(__name__, _HOME)
