"""Runs that are done once: a small file each, so that a stopped experiment goes on."""

import hashlib
import json
import pathlib
import time

from keras_dml import progress
from keras_dml._files import replaceable_file, write_text


def write_json(path, content):
    """Writes a JSON file whole or not at all.

    Args:
        path: A `pathlib.Path`.
        content: Plain numbers, strings, lists and dicts.

    Returns:
        The path.
    """
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return path


class Runs:
    """Results of runs by their settings, in a folder.

    A file holds the settings and the result. It is named by a digest of the settings and whole or
    not there, so that a broken run leaves nothing behind; other settings, other data among them,
    are another file.

    Args:
        folder: Folder of the files, created if missing.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def path(self, settings):
        """The file of a run.

        Args:
            settings: Plain numbers, strings, lists and dicts; `"name"`, if there is one, begins the
                file's name.
        """
        text = json.dumps(settings, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        return self.folder / f"{settings.get('name', 'run')}-{digest}.json"

    def find(self, settings):
        """The result of a finished run, None of one that is not.

        Raises:
            ValueError: If its file is damaged.
        """
        path = self.path(settings)
        try:
            return json.loads(path.read_text(encoding="utf-8"))["result"]
        except FileNotFoundError:
            return None
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged ({error}). Delete it; its run is then repeated."
            ) from error

    def make(self, plan, run, description):
        """Results of a plan, in its order; only what is not there is run.

        Args:
            plan: List of settings; equal ones are run once.
            run: Function of settings that gives a result which JSON holds.
            description: The work in a few words, for the progress.

        Returns:
            List of results.

        Raises:
            ValueError: If something else is where a result would be kept, before any run.
        """
        paths = {self.path(settings): settings for settings in plan}
        for path in paths:
            replaceable_file(path)
        missing = {path: settings for path, settings in paths.items() if not path.exists()}
        for path, settings in progress.track(missing.items(), description, len(missing)):
            start = time.monotonic()
            result = run(settings)
            kept = {
                "settings": settings,
                "result": result,
                "seconds": round(time.monotonic() - start, 2),
            }
            write_json(path, kept)
        return [self.find(settings) for settings in plan]
