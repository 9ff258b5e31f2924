"""Implements the command `keras-dml compare FIRST SECOND --model NAME`, which compares two
recordings.
"""

from typing import Annotated

import typer

from keras_dml.cli import _completion, _options
from keras_dml.recordings import format_names

Recording = Annotated[
    str,
    typer.Argument(
        help=f"A recording: a {format_names()} file.",
        show_default=False,
        autocompletion=_completion.complete_paths,
    ),
]

USUAL = 0.01  # false accept rate whose threshold gives the verdict, as a gallery's default


def run(
    first: Recording,
    second: Recording,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="Model: a name from `keras-dml list`, a .keras file, or the folder of a .keras "
            "file.",
            show_default=False,
            autocompletion=_completion.complete_models,
        ),
    ],
    reading: _options.Reading = _options.Reading(),
    engine: _options.Engine = None,
    distances: _options.Distances = False,
    as_json: _options.AsJson = False,
) -> None:
    """Compare two recordings without a gallery.

    The closeness is 100 for identical recordings and 0 for the usual distance between two people.

    The command also compares the distance with the thresholds of the model's card. Each threshold
    has two rates, which were measured on the people and sensors of the card. The false accept rate
    (FAR) says how often the distance between recordings of two people is at most the threshold. The
    true accept rate (TAR) says how often the distance between recordings of one person is at most
    the threshold. A recording that is longer than the model's input is cut into windows. Each
    window of FIRST is compared with the nearest window of SECOND, and the mean distance is printed.

    Exit status: 0 if the recordings are compared, 2 if not.

    Example: keras-dml compare monday.csv friday.csv --model gait_qp_wl
    """
    from keras_dml import scoring
    from keras_dml.cli import _answers, _console, _galleries, _models
    from keras_dml.zoo import headline

    with _answers.spell_messages():
        paths = [_galleries.find_file(path) for path in (first, second)]
        name = _models.resolve(model)
        with _console.stage(f"load {model}"):
            from keras_dml.gallery import Scale

            loaded = _galleries.load_model(name, engine)
        reader = _galleries.reader_of_model(loaded, reading)
        windows = [reader.read(path) for path in paths]
        reader.print_notes()
        embeddings = [loaded.embed(part) for part in windows]
        between = loaded.distances(*embeddings)
        distance = float(between.min(axis=1).mean())
        card = scoring.card_for(loaded.card, "nearest") or {}
        alone = loaded.distances(embeddings[1], embeddings[1])
        scale = Scale.from_card(card, alone.diagonal().mean())
    if as_json:
        _console.print_json(
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
        _console.echo("The card of the model has no threshold to compare the distance with.")
    else:
        rows = sorted(card["thresholds"], key=lambda row: row["far"])
        _console.echo(_verdict(rows, distance))
        _console.print_table(
            ("threshold", "these two", "FAR", "FAR, 95 % interval", "TAR"),
            [_judged(row, distance, scale) for row in rows],
        )
    if "headline" in card:
        _console.echo(_console.escape(headline.words(card)))


def _measured(distance, scale):
    """Returns a text with the distance, or with a score from 0 to 100 if `scale` is given."""
    if scale is None:
        return f"distance {distance:.4g}"
    return f"closeness {scale.closeness(distance):.1f} of 100"


def _verdict(rows, distance):
    """Returns the decision in words. The function uses the threshold whose false accept rate is
    nearest to `USUAL`.

    Args:
        rows: Thresholds of the card.
        distance: The distance.
    """
    row = min(rows, key=lambda row: abs(row["far"] - USUAL))
    verdict = "accepted" if distance <= row["value"] else "rejected"
    far = f"{100 * row['far']:g} %"
    return f"{verdict} as one person. The threshold for FAR {far} is from the card."


def _judged(row, distance, scale):
    """Returns a table row that says whether a threshold accepts the distance."""
    from keras_dml.zoo import catalog

    return (
        _measured(row["value"], scale),
        "accepted" if distance <= row["value"] else "rejected",
        f"{100 * row['far']:g} %",
        catalog.percents(catalog.far_interval(row)),
        catalog.with_interval(row["tar"], row["tar_ci95"]),
    )
