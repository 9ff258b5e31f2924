"""Runs the parts of an experiment and prints their duration and the estimated time left."""

import sys
import time
from collections.abc import Callable

from keras_dml import training
from keras_dml._files import replaceable_file


class TimedRuns(training.Runs):
    """Results of runs, stored in a folder. After each finished run, a line with the time left is
    printed on stderr.

    The files have the same format as in `keras_dml.training.Runs`, so that each of the two classes
    can continue an experiment of the other class.

    Args:
        folder: Folder of the files, created if missing.
    """

    def make(self, plan: list[dict], run: Callable[[dict], object], description: str) -> list:
        """Runs all settings of a plan that have no result yet. Returns the results in the order of
        the plan.

        Args:
            plan: List of settings. If settings occur several times, they are run only once.
            run: Function from settings to a result that can be written as JSON.
            description: Description of the work in a few words.

        Raises:
            ValueError: If the path of a result exists and is not a file of results.
        """
        paths = {self.path(settings): settings for settings in plan}
        for path in paths:
            replaceable_file(path)
        missing = {path: settings for path, settings in paths.items() if not path.exists()}
        if missing:
            finished = len(paths) - len(missing)
            resumed = f", {finished} finished before" if finished else ""
            _print(f"{description}: {len(missing)} to do{resumed}")
        start, processor_start = time.monotonic(), time.process_time()
        for count, (path, settings) in enumerate(missing.items(), start=1):
            start_of_run = time.monotonic()
            result = run(settings)
            now = time.monotonic()
            content = {
                "settings": settings,
                "result": result,
                "seconds": round(now - start_of_run, 2),
            }
            training.write_json(path, content)
            elapsed, processor = now - start, time.process_time() - processor_start
            left = elapsed / count * (len(missing) - count)
            _print(
                f"{description}: {count} of {len(missing)} done, the last in "
                f"{duration(now - start_of_run)}; {duration(elapsed)} elapsed, about "
                f"{duration(left)} left; {duration(processor)} of processor time"
            )
        return [self.find(settings) for settings in plan]


def duration(seconds: float) -> str:
    """Formats a time, such as `8 s`, `3 min 20 s` or `2 h 5 min`."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def _print(line):
    print(line, file=sys.stderr, flush=True)
