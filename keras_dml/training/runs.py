"""Stores the results of runs in small files, so that an interrupted experiment can continue."""

from __future__ import annotations

import hashlib
import json
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from keras_dml import progress
from keras_dml._files import replaceable_file, write_text
from keras_dml._typing import Path


def write_json(path: pathlib.Path, content: Any) -> pathlib.Path:
    """Writes a JSON file atomically and returns its path.

    Args:
        path: Path of the file.
        content: A value that consists of numbers, strings, lists and dicts.
    """
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


class Runs:
    """Folder with one result file per run.

    A file contains the settings and the result of a run. The file name contains a digest of the
    settings, so runs with different settings or data have different files. Files are written
    atomically, so an interrupted run leaves no partial file.

    Args:
        folder: Folder of the files, created if missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder: pathlib.Path = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, settings: dict[str, Any]) -> pathlib.Path:
        """Returns the path of a run's file.

        Args:
            settings: Dict of numbers, strings, lists and dicts. If the dict has a key `"name"`, the
                file name begins with the value of this key.
        """
        text = json.dumps(settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return self.folder / f"{settings.get('name', 'run')}-{digest}.json"

    def find(self, settings: dict[str, Any]) -> Any:
        """Returns the result of a finished run, or None if the run is not finished.

        Raises:
            ValueError: If the result file is damaged.
        """
        path = self.path(settings)
        try:
            return json.loads(path.read_text(encoding="utf-8"))["result"]
        except FileNotFoundError:
            return None
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged ({error}). Delete the file to repeat the run."
            ) from error

    def make(
        self, plan: Sequence[dict[str, Any]], run: Callable[[dict[str, Any]], Any], description: str
    ) -> list[Any]:
        """Returns the results of all runs of a plan, in order. Finished runs are not repeated.

        Args:
            plan: List of settings. Equal settings are run only once.
            run: Function that takes settings and returns a result that can be written as JSON.
            description: Short description of the work, shown with the progress.

        Raises:
            ValueError: If the path of a result is a folder. The method checks all paths before the
                first run.
        """
        paths = {self.path(settings): settings for settings in plan}
        for path in paths:
            replaceable_file(path)
        missing = {path: settings for path, settings in paths.items() if not path.exists()}
        for path, settings in progress.track(missing.items(), description, len(missing)):
            start = time.monotonic()
            result = run(settings)
            record = {
                "settings": settings,
                "result": result,
                "seconds": round(time.monotonic() - start, 2),
            }
            write_json(path, record)
        return [self.find(settings) for settings in plan]
