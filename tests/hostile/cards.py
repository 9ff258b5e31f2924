"""Attempts with model cards and golden files that were changed or damaged."""

import contextlib
import functools
import json
import math
import os
import pathlib
import shutil
import tempfile
from unittest import mock

import numpy as np
import typer.testing

from keras_dml import cli, models, zoo
from keras_dml._backend import keras
from keras_dml.training import publish
from keras_dml.zoo import reading
from tests.hostile import draws
from tests.hostile.checks import settle
from tests.zoo.cards import CARD

NAME = "tiny"
# Fields of a card that may be null.
NULLABLE = {"length", "p", "fraction", "quantization"}


@functools.cache
def _published():
    """Returns a temporary zoo folder with a small model. The folder is deleted when the process
    ends.
    """
    root = tempfile.TemporaryDirectory(prefix="hostile-zoo-")
    keras.utils.set_random_seed(3)
    rng = np.random.default_rng(7)
    recordings = [draws.recording(rng, steps) for steps in (9, 12)]
    model = models.sequence_encoder(3, size="edge", knots=4, halvings=0)
    publish(pathlib.Path(root.name, NAME), model, CARD, recordings)
    return root


@contextlib.contextmanager
def _zoo(folder):
    """Makes the library use a copy of the zoo of `_published`. Yields the model's folder."""
    shutil.copytree(_published().name, folder, dirs_exist_ok=True)
    with mock.patch.dict(os.environ, {"KERAS_DML_ZOO": str(folder)}):
        yield folder / NAME


def _numbers(value):
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list)):
        return [number for part in parts for number in _numbers(part)]
    return [value] if isinstance(value, (int, float)) else []


def _kind(value):
    return float if type(value) is int else type(value)


def _agrees(text, path=()):
    """Returns a function that checks a card. The card must equal the content of its file and have
    valid values.
    """

    def check(found):
        card, line = found
        assert card == json.loads(text), "another card than the file's"
        assert all(math.isfinite(number) for number in _numbers(card)), "a number that is none"
        assert NAME in line and "\n" not in line, line
        if path and not NULLABLE & set(path):
            with open(pathlib.Path(_published().name, NAME, "card.json")) as file:
                before = draws.at(json.load(file), path)
            assert _kind(draws.at(card, path)) is _kind(before), f"{path} is of another kind"

    return check


def _read(place, text, path=()):
    card = place / "card.json"
    card.write_bytes(text.encode("utf-8", "surrogatepass"))
    return settle(lambda: (zoo.card(NAME), zoo.info(NAME)), _agrees(text, path), names=(str(card),))


def value(rng, folder):
    """Replaces a value by NaN, a huge number, another type, odd text or deep nesting."""
    with _zoo(folder) as place:
        return _read(place, *draws.spoiled_json(rng, (place / "card.json").read_text()))


def damage(rng, folder):
    """Damages bytes of a card."""
    with _zoo(folder) as place:
        data = draws.damaged(rng, (place / "card.json").read_bytes())
        (place / "card.json").write_bytes(data)
        call = lambda: (zoo.card(NAME), zoo.info(NAME))  # noqa: E731
        return settle(call, lambda found: _agrees(data.decode())(found))


def shown(rng, folder):
    """Prints a card with control characters and markup in the texts."""
    with _zoo(folder) as place:
        content = json.loads((place / "card.json").read_text())
        texts = [path for path in draws.json_paths(content) if type(draws.at(content, path)) is str]
        few_words = ("repeats", "kind", "metric")  # texts of the main result that cannot be changed
        free = [
            path
            for path in texts
            if path[0] not in ("model", "golden", "name")
            and not (path[0] in ("headline", "baselines") and path[-1] in few_words)
        ]
        path = draws.draw(rng, free)
        draws.at(content, path[:-1])[path[-1]] = draws.draw(rng, draws.TEXTS[:6])
        (place / "card.json").write_text(json.dumps(content))
        words = draws.draw(rng, (["card", NAME], ["card", NAME, "--json"], ["list"]))

        def call():
            result = typer.testing.CliRunner().invoke(cli.app, words)
            if isinstance(result.exception, Exception):
                raise result.exception
            return result.output

        def check(output):
            assert NAME in output and output.replace("\n", "").isprintable(), repr(output)

        return settle(call, check, refuses=False)


def tolerance(rng, folder):
    """Replaces the model, and sets a tolerance in the card that would accept the new model."""
    with _zoo(folder) as place:
        other = zoo.load(NAME)
        other.set_weights([rng.normal(size=one.shape) for one in other.get_weights()])
        other.save(place / "model.keras")
        allowed = draws.draw(rng, (*draws.RAW, "true", "null", f"{10 ** rng.uniform(-6, 6):.3g}"))
        card = json.loads((place / "card.json").read_text())
        card["model"]["sha256"] = reading.sha256(place / "model.keras")
        card["golden"]["atol"] = "here"
        text = json.dumps(card).replace('"here"', allowed)
        (place / "card.json").write_text(text)
        return settle(lambda: zoo.check(NAME), refuses=True, names=(str(place),))


def golden(rng, folder):
    """Damages a golden file. The file must be refused unless its content is unchanged."""
    with _zoo(folder) as place:
        path = place / "golden.npz"
        whole = reading.read_golden(path)
        allowed = json.loads((place / "card.json").read_text())["golden"]["atol"]
        path.write_bytes(draws.damaged(rng, path.read_bytes()))

        def check(difference):
            assert difference <= allowed
            recordings, embedding = reading.read_golden(path)
            for found, expected in zip(
                [*recordings, embedding], [*whole[0], whole[1]], strict=True
            ):
                np.testing.assert_array_equal(found, expected)

        return settle(lambda: zoo.check(NAME), check, names=(str(place),))


def folders(rng, folder):
    """Sets KERAS_DML_ZOO to a path without models, or renames a card."""
    with _zoo(folder) as place:
        kind = rng.integers(4)
        named = (place, folder / "none", place / "card.json", folder)[kind]
        if kind == 3:
            place.rename(folder / "another")
        with mock.patch.dict(os.environ, {"KERAS_DML_ZOO": str(named)}):
            return settle(lambda: zoo.card("another" if kind == 3 else NAME), refuses=True)


KINDS = {
    "another value": (120, value),
    "damaged bytes": (40, damage),
    "on the screen": (24, shown),
    "a loose tolerance": (8, tolerance),
    "a damaged golden file": (10, golden),
    "another folder": (8, folders),
}
