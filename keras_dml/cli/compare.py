"""`keras-dml compare A B --model NAME`: the distance of two recordings, without a gallery."""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options
from keras_dml.recordings import format_names

Recording = Annotated[
    str,
    typer.Argument(
        help=f"A recording: a {format_names()} file.",
        show_default=False,
        autocompletion=_completion.paths,
    ),
]

USUAL = 0.01  # rate of the threshold that gives the verdict, as in a gallery


class _Comparison:
    """A model as `_galleries.Reader` asks a gallery for it."""

    def __init__(self, model):
        from keras_dml import quality

        self.model, self.reading = model, {}  # there is no earlier enrollment
        self._gate = quality.gate_of(model)

    def unfit(self, recordings):
        """Returns the reasons why recordings should not be compared, by their index."""
        return {} if self._gate is None else self._gate.refused(recordings)


def run(
    first: Recording,
    second: Recording,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="The model: of `keras-dml list`, a .keras file, or the folder of one.",
            show_default=False,
            autocompletion=_completion.models,
        ),
    ],
    reading: _options.Reading = _options.Reading(),
    distances: _options.Distances = False,
    as_json: _options.AsJson = False,
):
    """Compare two recordings without a gallery: how close they are, and what the card says of it.

    100 is as close as the same recording, 0 as far as two people usually are.

    The card's thresholds were measured on its own people and sensors. They say how often recordings
    of two people are as close as that, and how often recordings of one person are. A recording that
    is longer than the model takes is cut into windows: each window of FIRST is compared with the
    nearest one of SECOND, and the mean is printed.

    Exit status: 0 compared, 2 not.

    Example: keras-dml compare monday.csv friday.csv --model gait_qp_wl
    """
    from keras_dml.cli import _answers, _console, _galleries, _models
    from keras_dml.zoo import headline

    with _answers.answered():
        paths = [_galleries.one_file(path) for path in (first, second)]
        name = _models.named(model)
        with _console.stage(f"load {model}"):
            from keras_dml import inference
            from keras_dml.gallery import Scale
            from keras_dml.zoo import reading as models

            comparison = _Comparison(models.load(name))
        reader = _galleries.Reader(comparison, reading)
        windows = [reader.read(path) for path in paths]
        reader.say()
        embeddings = [inference.embed(comparison.model, part) for part in windows]
        between = inference.distance(comparison.model, *embeddings)
        distance = float(between.min(axis=1).mean())
        card = models.card_of(comparison.model) or {}
        alone = inference.distance(comparison.model, embeddings[1], embeddings[1])
        scale = Scale.from_card(card, alone.diagonal().mean())
    if as_json:
        _console.json_object(
            {
                "distance": distance,
                "closeness": None if scale is None else scale.closeness(distance),
                "model": name,
                "thresholds": [
                    {**row, "accepted": distance <= row["value"]}
                    for row in card.get("thresholds", ())
                ],
                "notes": reader.notes,
            }
        )
        return
    scale = None if distances else scale
    _console.echo(_measured(distance, scale))
    if not card.get("thresholds"):
        _console.echo("The card of the model has no threshold to compare it with.")
    else:
        rows = sorted(card["thresholds"], key=lambda row: row["far"])
        _console.echo(_verdict(rows, distance))
        _console.table(
            ("threshold", "these two", "FAR", "its 95 % interval", "TAR"),
            [_judged(row, distance, scale) for row in rows],
        )
    if "headline" in card:
        _console.echo(_console.plain(headline.words(card)))


def _measured(distance, scale):
    """A distance in words, as closeness if there is a `Scale`."""
    if scale is None:
        return f"distance {distance:.4g}"
    return f"closeness {scale.closeness(distance):.1f} of 100"


def _verdict(rows, distance):
    """Returns what the threshold of the usual rate, or of the nearest one, says about a distance.

    Args:
        rows: Thresholds of the card.
        distance: The distance.
    """
    row = min(rows, key=lambda row: abs(row["far"] - USUAL))
    verdict = "accepted" if distance <= row["value"] else "rejected"
    return f"{verdict} as one person by the card's threshold for FAR {100 * row['far']:g} %"


def _judged(row, distance, scale):
    """Returns the row of the table of a threshold of the card."""
    from keras_dml.zoo import catalog

    return (
        _measured(row["value"], scale),
        "accepted" if distance <= row["value"] else "rejected",
        f"{100 * row['far']:g} %",
        catalog.percents(catalog.far_interval(row)),
        catalog.with_interval(row["tar"], row["tar_ci95"]),
    )
