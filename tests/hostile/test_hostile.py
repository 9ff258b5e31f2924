"""Tests that hostile input causes a clear error or a correct output, and nothing else."""

import numpy as np
import pytest

from tests.hostile import checks, trials

# The default tests run every n-th attempt of these groups, which includes each kind of attempt. The
# slow tests run all attempts.
EACH = {
    "model_files": 2, "cards": 9, "archives": 2, "arrays": 9, "labels": 12, "paths": 2, "kills": 9,
    "recordings": 12, "names": 4, "galleries": 6, "requests": 4,
}  # fmt: skip


@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("group", trials.GROUPS)
def test_every_attempt_ends_in_an_error_or_a_correct_output(group, share):
    attempts = trials.attempts(group)
    kinds = {attempt.kind for attempt in attempts}
    attempts = attempts[:: EACH[group] if share == "some" else 1]
    assert kinds and kinds == {attempt.kind for attempt in attempts}
    outcomes = [trials.run(attempt) for attempt in attempts]
    wrong = [outcome for outcome in outcomes if outcome.verdict is None]
    report = "\n".join(
        f"{outcome.attempt.kind}: {outcome.why}\n{trials.command(outcome.attempt)}"
        for outcome in wrong
    )
    assert not wrong, report
    assert {outcome.verdict for outcome in outcomes} >= {checks.Verdict.ANSWERED}


def _raise(error):
    raise error


@pytest.mark.parametrize(
    "call",
    [
        lambda: _raise(KeyError("x")),
        lambda: _raise(ValueError("")),
        lambda: _raise(ValueError("long enough, but raised by a test")),
        lambda: b"\xff".decode(),
        lambda: np.zeros(2).reshape(3),
    ],
)
def test_errors_from_outside_the_library_are_wrong(call):
    with pytest.raises(checks.Wrong, match="an error"):
        checks.settle(call, agrees=lambda answer: None)


def test_wrong_outputs_and_missing_errors_are_wrong():
    with pytest.raises(checks.Wrong, match="a wrong output: not finite"):
        checks.settle(lambda: [np.nan], lambda found: checks.same(found, [1.0]))
    with pytest.raises(checks.Wrong, match="a wrong output: off by"):
        checks.settle(lambda: [1.1], lambda found: checks.same(found, [1.0], 0.01))
    with pytest.raises(checks.Wrong, match="accepted invalid input"):
        checks.settle(lambda: 1, lambda found: None, refuses=True)
    with pytest.raises(checks.Wrong, match="held"):
        checks.settle(checks.bounded(lambda: bytes(2_000_000), 1_000_000), lambda found: None)


def test_unrelated_files_must_not_change(tmp_path):
    def change(rng, folder):
        path = folder.parent / "bystander" / "inner" / "notes.txt"
        rng.choice([path.unlink, lambda: path.write_text("mine")])()
        return checks.Verdict.ANSWERED

    def leave(rng, folder):
        (folder.parent / "left").touch()
        return checks.Verdict.ANSWERED

    for run, word in ((change, "inner/notes.txt"), (leave, "left over: left")):
        outcome = trials.run(trials.Attempt("paths", 0, "a foreign file", run))
        assert outcome.verdict is None and word in outcome.why


def test_an_attempt_depends_only_on_seed_and_number():
    once, often = trials.attempts("archives"), trials.attempts("archives", 3)
    assert often[: len(once)] == once and len(often) == 3 * len(once)


def test_a_refitted_classifier_does_not_affect_later_attempts():
    attempts = trials.attempts("labels", 2)
    refits = [trial for trial in attempts if trial.kind == "prototypes"][:6]
    fits = [trial for trial in attempts if trial.kind == "fit, spoiled"][-8:]
    assert len(refits) == 6 and len(fits) == 8 and refits[-1].number < fits[0].number
    outcomes = [trials.run(trial) for trial in (*refits, *fits)]
    assert not [outcome.why for outcome in outcomes if outcome.verdict is None]
    assert checks.Verdict.ANSWERED in {outcome.verdict for outcome in outcomes[:6]}
