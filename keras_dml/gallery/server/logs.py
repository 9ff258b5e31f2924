"""Writes the log of the server with one JSON object per line and without names of people."""

import contextvars
import datetime
import json
import logging
import sys
from typing import Any, TextIO

LOGGER = logging.getLogger("keras_dml.server")
LOGGER.setLevel(logging.INFO)
request_id: contextvars.ContextVar[str | None] = contextvars.ContextVar("request_id", default=None)


class JsonLines(logging.Formatter):
    """Formatter that writes time, level, request id, message and `fields` as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns a line without a traceback, because a traceback may contain names of people."""
        time = datetime.datetime.fromtimestamp(record.created, datetime.UTC)
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "request_id": request_id.get(),
            "message": record.getMessage(),
        }
        return json.dumps(line | getattr(record, "fields", {}))


class StandardError(logging.StreamHandler):
    """Log handler that always writes to the current `sys.stderr`."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        """The current `sys.stderr`."""
        return sys.stderr


def install() -> None:
    """Sends the logs of the server and of uvicorn to standard error as JSON.

    The access log of uvicorn is turned off, because the paths in this log contain names of people.
    """
    handler = StandardError()
    handler.setFormatter(JsonLines())
    for name in (LOGGER.name, "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("uvicorn.access").disabled = True


def info(message: str, **fields: Any) -> None:
    """Logs an event."""
    LOGGER.info(message, extra={"fields": fields})


def error(message: str, **fields: Any) -> None:
    """Logs a failure."""
    LOGGER.error(message, extra={"fields": fields})
