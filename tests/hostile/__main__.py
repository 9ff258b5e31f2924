"""`python -m tests.hostile` tries hostile and invalid input."""

import enum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from keras_dml import progress
from tests.hostile import checks, trials

Group = enum.StrEnum("Group", {name: name for name in trials.GROUPS})
app = typer.Typer(add_completion=False, rich_markup_mode=None)
out = Console(soft_wrap=True, highlight=False)


@app.command(epilog="Example: python -m tests.hostile --only cards --only paths --times 10")
def main(
    seed: Annotated[int, typer.Option(help="Seed of all draws.")] = trials.SEED,
    times: Annotated[int, typer.Option(min=1, help="Number of repetitions of each group.")] = 1,
    only: Annotated[
        list[Group] | None, typer.Option(help="Group to try; may be repeated. [default: all]")
    ] = None,
    attempt: Annotated[
        int | None, typer.Option(help="Number of the only attempt of each group to run.")
    ] = None,
):
    """Try damaged model files, cards, archives, recordings and galleries, odd arrays, labels,
    names, paths and requests, and kills.

    An attempt is right if it ends in a clear error, or in an output that an independent check
    accepts. Anything else is wrong: another output, a traceback, NaN, changes of unrelated files,
    files left behind. Wrong attempts are listed below the table with the command that repeats
    them, and the exit status is 1. Processes are killed at random times; everything else depends on
    the seed.
    """
    groups = [group.value for group in only or Group]
    attempts = [
        trial
        for group in groups
        for trial in trials.attempts(group, times if attempt is None else 1_000)
        if attempt in (None, trial.number)
    ]
    outcomes = [trials.run(trial, seed) for trial in progress.track(attempts, "trying")]
    out.print(_table(groups, outcomes))
    wrong = [outcome for outcome in outcomes if outcome.verdict is None]
    for outcome in wrong:
        out.print(f"{outcome.attempt.kind}: {outcome.why}", markup=False)
        out.print(f"  {trials.command(outcome.attempt, seed)}", markup=False)
    raise typer.Exit(1 if wrong else 0)


def _table(groups, outcomes):
    table = Table()
    table.add_column("group")
    ends = [*checks.Verdict, None]
    for title in ("attempts", *checks.Verdict, "wrong"):
        table.add_column(title, justify="right")
    for group in groups:
        verdicts = [trial.verdict for trial in outcomes if trial.attempt.group == group]
        counts = (len(verdicts), *(verdicts.count(end) for end in ends))
        table.add_row(group, *(f"{count:,}" for count in counts))
    return table


if __name__ == "__main__":
    app(prog_name="python -m tests.hostile")
