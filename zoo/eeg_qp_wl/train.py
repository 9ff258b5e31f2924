"""Trains `eeg_qp_wl`: whose brain is it, from one second of EEG.

Seventeen people are at hand, so the figures are cross-validated over four folds of people, and the
model that is published is trained on all of them. From the checkout: `python -m zoo.eeg_qp_wl.train
--help`.
"""

import typer

from zoo import augment, eeg, recipe, sequences

PAIRS = 12
STEPS = 600
MIX, TOGETHER = 0.5, 0.3


def vary(batch, rng):
    """Heads that nobody has, and gains that differ between two trials of one person."""
    return augment.scale(augment.mix_channels(batch, rng, MIX, TOGETHER), rng, eeg.GAIN)


@recipe.command(STEPS)
def main(run, method: sequences.Method = "qp_wl"):
    """Cross-validates over four folds of people; with --publish also trains the final model on
    all."""

    def train(run, people):
        pairs = min(PAIRS, len(set(people.subjects)))
        batches = {"pairs": pairs, "length": eeg.CROP, "augment": vary}
        return sequences.train(run, method, people, batches=batches, normalization="difference")

    everybody = eeg.trials()
    measured, encoders = eeg.cross_validate(run, everybody, train)
    if run.publishes and method == "qp_wl":
        eeg.publish(run, everybody, train, measured, encoders)


if __name__ == "__main__":
    typer.run(main)
