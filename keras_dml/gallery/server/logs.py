"""The log of the server: one JSON object per line, without names of people."""

import contextvars
import datetime
import json
import logging
import sys

LOGGER = logging.getLogger("keras_dml.server")
LOGGER.setLevel(logging.INFO)
request_id = contextvars.ContextVar("request_id", default=None)


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object: time, level, request id, message and `fields`."""

    def format(self, record):
        """Returns the line. Tracebacks are left out, because values in them may name people."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "request_id": request_id.get(),
            "message": record.getMessage(),
        }
        return json.dumps(line | getattr(record, "fields", {}))


class StandardError(logging.StreamHandler):
    """Writes to the standard error of the moment, which may be another than at the start."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self):
        """The stream."""
        return sys.stderr


def install():
    """Sends the log of the server, and that of uvicorn, to standard error as JSON.

    uvicorn's log of requests is turned off: paths hold names of people.
    """
    handler = StandardError()
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("uvicorn.access").disabled = True


def info(message, **fields):
    """Logs what happened."""
    LOGGER.info(message, extra={"fields": fields})


def error(message, **fields):
    """Logs what failed."""
    LOGGER.error(message, extra={"fields": fields})
