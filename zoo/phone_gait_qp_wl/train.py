"""Trains `phone_gait_qp_wl`, which recognizes walkers by a phone in the trouser pocket.

The model rotates windows of ten seconds into the frame of gravity. The model uses the quantile
layer and the Wasserstein loss of Abdelwahab2019. The data contains only twenty-six people, so the
figures are cross-validated over six groups of people. For each group, the settings that were best
on another group are used (`python -m zoo.phone_gait_qp_wl.search` finds them). The published model
is trained on all people. To list the options, run `python -m zoo.phone_gait_qp_wl.train --help`
from the checkout.
"""

import csv
import dataclasses
import functools
import pathlib

import typer

from keras_dml.training import measure
from zoo import augment, nested, phone, recipe, sequences

STEPS = 1500
PAIRS = 64  # of a batch, at most one for each person and tempo
LEARNING_RATE, HALVINGS = 3e-3, 2
SEARCH = pathlib.Path(__file__).parent / "figures" / "search.csv"

examples, known_recordings = phone.examples, phone.known_recordings


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings that `zoo.phone_gait_qp_wl.search` varies.

    Attributes:
        horizontal: See `keras_dml.layers.GravityFrame`. If None, the model takes the recorded x, y
            and z.
        turned: Whether the two windows of a pair are independently rotated about random axes.
        tempos: See `keras_dml.training.People.at_tempos`.
        filtering: See `keras_dml.training.augment.filter_pairs`.
        gain: Largest change of an axis's gain between two windows, as a fraction.
        noise: Standard deviation of the added noise, in m/s2.
        duration: Number of training steps, as a multiple of `--steps`.
    """

    horizontal: str | None = "both"
    turned: bool = False
    tempos: tuple = phone.TEMPOS
    filtering: float = 0.0
    gain: float = 0.0
    noise: float = 0.0
    duration: float = 1.0


# Settings that each variant changes. The search runs the variants in this order.
VARIED = {"filtering": 0.3, "gain": 0.03, "noise": 0.2}
VARIANTS = {
    "axes and magnitude": {},
    "magnitude": {"horizontal": "magnitude"},
    "x, y, z as recorded": {"horizontal": None},
    "x, y, z, windows turned": {"horizontal": None, "turned": True},
    "axes and magnitude, pairs filtered, gains and noise": VARIED,
    "that for a third of the steps": {**VARIED, "duration": 1 / 3},
    "that with seven tempos": {**VARIED, "tempos": (0.8, 0.87, 0.93, 1.0, 1.07, 1.15, 1.25)},
}


def vary(batch, rng, settings):
    """Augments a batch. The augmentation simulates new walkers, rotated phones, changed gains and
    noise.
    """
    batch = augment.filter_pairs(batch, rng, settings.filtering)
    batch = phone.turned(batch, rng) if settings.turned else batch
    return augment.add_noise(augment.scale(batch, rng, settings.gain), rng, settings.noise)


def trained(run, walkers, settings):
    """Trains an encoder on the given walkers.

    Args:
        run: `zoo.recipe.Run`.
        walkers: Result of `phone.walks`, with all people or some of them.
        settings: `Settings`.
    """
    walks = walkers.at_tempos(settings.tempos).at_least(phone.WINDOW, 2)
    batches = {
        "pairs": min(PAIRS, len(set(walks.subjects))),
        "length": phone.WINDOW,
        "augment": functools.partial(vary, settings=settings),
        "sessions": walks.sessions,
    }
    part = dataclasses.replace(run, steps=max(1, round(settings.duration * run.steps)))
    encoder = sequences.train(
        part,
        "qp_wl",
        walks,
        batches=batches,
        adapt_to=walkers.signals,
        optimization=dataclasses.replace(sequences.OPTIMIZATION, learning_rate=LEARNING_RATE),
        front=phone.front(settings.horizontal) if settings.horizontal else (),
        halvings=HALVINGS,
        halve_every=1,
    )
    run.minutes = part.minutes
    return encoder


def choose_variants(groups, path=SEARCH):
    """Chooses for each group the variant that is best on the other group of its pair, and chooses
    the variant that is best on all groups.

    Args:
        groups: `phone.groups`.
        path: Path of the table that `zoo.phone_gait_qp_wl.search` writes. The columns `group 1` to
            `group 6` of the table contain the EER of single pairs with rotated probes. Variants
            that were not measured on all groups are skipped.

    Returns:
        A list with the name of a variant for each group, and the name of the variant for all
        people.

    Raises:
        FileNotFoundError: If the table does not exist.
    """
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist. It contains the results from which the settings are chosen. "
            "Run `python -m zoo.phone_gait_qp_wl.search` first."
        )
    names = [f"group {number}" for number in range(1, len(groups) + 1)]
    with path.open(newline="", encoding="utf-8") as file:
        lines = [line for line in csv.DictReader(file) if all(line[name] for name in names)]
    rows = {line["variant"]: [float(line[name]) for name in names] for line in lines}

    def validate(candidate, pair):
        return [-rows[candidate["variant"]][groups.index(group)] for group in pair]

    grid = [{"variant": variant} for variant in rows]
    of_groups, of_all = nested.choose(grid, groups, validate)
    return [row["variant"] for row in of_groups], of_all["variant"]


def settings_of(variant):
    """Returns the `Settings` of a variant."""
    return dataclasses.replace(Settings(), **VARIANTS[variant])


@recipe.command(STEPS)
def main(run):
    """Cross-validates over six groups of people. With --publish, also trains the final model on all
    people.
    """
    walkers = phone.walks()
    groups = phone.groups(walkers)
    variants, of_all = choose_variants(groups)
    encoders = []
    for number, (group, variant) in enumerate(zip(groups, variants, strict=True), start=1):
        print(f"group {number}: trained without {', '.join(group)}, variant: {variant}", flush=True)
        part = run.part(f"fold_{number}")
        encoders.append(trained(part, walkers.without(group), settings_of(variant)))
    results = phone.measured([phone.of_model(encoder) for encoder in encoders], walkers)
    measured = measure.Measurement(phone.rows(results), phone.measurement(results).trials)
    run.save(measured, phone.caption(walkers))
    if run.publishes:
        final = run.part("final")
        encoder = trained(final, walkers, settings_of(of_all))
        run.minutes = final.minutes
        phone.publish(run, encoder, walkers, measured, encoders)


if __name__ == "__main__":
    typer.run(main)
