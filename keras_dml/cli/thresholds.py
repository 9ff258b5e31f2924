"""Implements the command `keras-dml thresholds GALLERY|FILE`, which lists thresholds of a gallery,
or computes thresholds from the scores or embeddings of any recognition system."""

import dataclasses
import pathlib
from typing import Annotated, Any

import typer

from keras_dml.cli import _completion, _options, _score_tables


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="GALLERY|FILE",
            help="A gallery (file, or URL of a PostgreSQL database), or a file of scores or "
            "embeddings (csv, Parquet or npz).",
            show_default=False,
            autocompletion=_completion.complete_paths,
        ),
    ],
    scores: _score_tables.ScoreOptions = _score_tables.ScoreOptions(),
    access: _options.Access = _options.Access(),
    as_json: _options.AsJson = False,
) -> None:
    """List the thresholds of a gallery, or compute thresholds for the scores of any system.

    GALLERY: the command lists the calibrated thresholds, including the thresholds of `keras-dml
    listen`. Without --far, decisions of the gallery use the threshold for the smallest rate. Only
    --key, --keys and --json apply.

    FILE (.csv, .parquet, .npz): the command computes thresholds for false accept rates, with
    intervals over people. The file comes from any recognition system, such as a network for faces
    or voices. Each row is a trial with the columns person_a, person_b, score and, if there are
    groups of people, group. With --distance, each row is an embedding with the columns person and,
    if there are groups, group. The command also prints how many people a rate needs if the people
    in the file are too few.

    The command needs no model.

    Exit status: 0 if the thresholds are printed, 2 if not.

    Example: keras-dml thresholds family.db

    Example: keras-dml thresholds trials.csv --check 0.25 --report thresholds.html

    Example: keras-dml thresholds voices.npz --distance cosine --far 0.01
    """
    if pathlib.Path(source).is_dir():
        raise typer.BadParameter(f"{source} is a folder. Give a gallery, or a file of scores.")
    if _score_tables.is_score_file(source):
        if access.key is not None or access.keys is not None:
            raise typer.BadParameter(
                f"--key and --keys are for galleries, and {source} is a file of scores or "
                "embeddings."
            )
        _score_tables.print_report(source, scores, as_json=as_json)
        return
    if options := scores.changed():
        raise typer.BadParameter(
            f"{options[0]} is for files of scores or embeddings, which end in "
            f"{', '.join(_score_tables.SUFFIXES)}. {source} is read as a gallery."
        )
    _list_gallery(source, access, as_json=as_json)


def _list_gallery(gallery, access, *, as_json):
    from keras_dml import gallery as galleries
    from keras_dml.cli import _answers, _console

    with _answers.spell_messages():
        facts = galleries.info(gallery, **vars(access))
    if as_json:
        _console.print_json(as_lists(facts))
        return
    for limit in [*facts.thresholds.values(), *facts.boundaries.values()]:
        _console.echo(_console.escape(limit))
    if not facts.thresholds and not facts.boundaries:
        _console.echo("No threshold is set. Run `keras-dml calibrate` to set one.")
    if not facts.thresholds and facts.provisional:
        _console.echo("Until then, decisions use the provisional thresholds of the model's card:")
        for limit in facts.provisional.values():
            _console.echo(_console.escape(limit))


def as_lists(facts: Any) -> dict[str, list[dict[str, Any]]]:
    """Converts the thresholds of a `GalleryInfo` to objects for JSON.

    Returns:
        Dict `{"thresholds": [...], "boundaries": [...], "provisional": [...]}` of lists that are
        sorted by rate. The list `boundaries` has the thresholds of `keras-dml listen`, and
        `provisional` has the thresholds of the model's card.
    """
    return {
        "thresholds": [_fields(threshold) for threshold in facts.thresholds.values()],
        "boundaries": [dataclasses.asdict(boundary) for boundary in facts.boundaries.values()],
        "provisional": [_fields(threshold) for threshold in facts.provisional.values()],
    }


def _fields(threshold):
    groups = [group._asdict() for group in threshold.groups]
    extrapolated = threshold.extrapolated
    return {**dataclasses.asdict(threshold), "groups": groups, "extrapolated": extrapolated}
