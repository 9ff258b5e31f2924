"""Command `python -m tests.hostile`, which runs attempts with hostile and invalid input."""

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
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = trials.SEED,
    times: Annotated[int, typer.Option(min=1, help="Number of repetitions of each group.")] = 1,
    only: Annotated[
        list[Group] | None,
        typer.Option(help="Group of attempts to run. Can be repeated. [default: all]"),
    ] = None,
    attempt: Annotated[
        int | None, typer.Option(help="Run only the attempt with this number in each group.")
    ] = None,
):
    """Run attempts to break the library with hostile and invalid input.

    The input is damaged model files, cards, archives, recordings and galleries, and unusual arrays,
    labels, names, paths and requests. Some attempts kill processes that write files.

    The outcome of an attempt is right if it is a clear error, or an output that an independent
    check accepts. Any other outcome is wrong, such as another output, a traceback, NaN, changed
    unrelated files, or temporary files that remain. The command lists wrong attempts below the
    table, each with a command that repeats the attempt, and exits with status 1. Processes are
    killed at random times. Everything else depends only on the seed.
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
