"""Measures false and true accept rates of galleries that are calibrated with few people.

python -m tests.bench.few_people --out build/few_people

The script draws random groups. Each group has four enrolled people with three recordings each, some
volunteers whose recordings determine the threshold, and strangers. Other people determine the
thresholds of the model card. These people are half of the population. If `card` names a population
with other sensors, the people of this population determine the thresholds of the model card. The
populations come from all data sets with at least twelve people who are not in the training data.
(The vowels have only nine speakers, and HDM05 has five actors.) The script computes distances once
and stores them in `--out`.
"""

import csv
import io
import pathlib
import tarfile
import tempfile
import warnings
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
import typer

from keras_dml import zoo
from keras_dml._files import staged
from keras_dml.gallery.calibration import HIGHEST, calibrated
from keras_dml.training import People, measure
from tests.bench import smoke as smoke_run
from tests.bench.far_promise import made_up_walks
from zoo import (
    baselines,
    eeg,
    eye_baselines,
    eyes,
    gait,
    phone,
    phone_baselines,
    recordings,
    telephone,
    voices,
    watch,
    watch_baselines,
)

# Number of enrolled people, and numbers of enrolled recordings and of probes per person.
ENROLLED, RECORDINGS, PROBES = 4, 3, 10
ON_CARD = 10  # recordings per person with which imposters of the card are compared
TYPISTS = 300  # the first typists of the archive, because distances of all 1,829 take 3 GB
LEVELS = np.linspace(0.05, 0.95, 19)  # levels of the quantiles of key times


class Population(NamedTuple):
    """People who are not in the training data.

    Attributes:
        people: Function that returns `keras_dml.training.People`.
        distances: Function that takes the people of the population and returns the distances
            between all their recordings.
        card: Name of another population, whose people determine the thresholds of the model card.
            By default, half of this population determines the thresholds.
    """

    people: Callable
    distances: Callable
    card: str | None = None


def of_model(name):
    """Returns a function that computes the distances between the recordings of people with a zoo
    model.
    """
    return lambda people: measure.pairwise_distances(zoo.load(name), people.signals)


def _phones(people):
    model = phone_baselines.log_euclidean_model(phone.walks())
    return measure.pairwise_distances(model, people.signals)


def _eeg(people):
    return baselines.log_euclidean(zoo.load("eeg_spdnet_rpl"), people.signals)


def typists():
    """Returns sentences that people typed.

    For each key, a recording has the time that the key was held and the time until the next key, in
    milliseconds. All sentences of a person are from one session.
    """
    folder = recordings.data_dir() / "aalto_keystrokes"
    people = People([], [], [])
    with tarfile.open(folder / "aalto_keystrokes_subset.tar.xz") as archive:
        for member in archive:
            if not member.isfile():
                continue
            text = archive.extractfile(member).read().decode("latin-1")
            sentences = {}
            for row in csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE):
                times = float(row["PRESS_TIME"]), float(row["RELEASE_TIME"])
                sentences.setdefault(row["TEST_SECTION_ID"], []).append(times)
            for number, rows in enumerate(sentences.values()):
                pressed, released = np.array(rows).T
                keys = np.stack([(released - pressed)[:-1], np.diff(pressed)], axis=1)
                people += People([keys], [member.name], [number])
            if len(set(people.subjects)) == TYPISTS:
                return people
    raise ValueError(f"The archive has fewer than {TYPISTS} people.")


def _typing(people):
    """Computes distances between recordings of typing, without training.

    The features of a recording are quantiles of the logarithms of its key times. The function
    computes Euclidean distances between these features.
    """
    logs = [np.log(np.clip(keys, 10, 2000)) for keys in people.signals]
    return baselines.euclidean([np.quantile(keys, LEVELS, axis=0).ravel() for keys in logs])


def _voices(prepare):
    return voices.of_test(voices.everybody(prepare=prepare))[0]


POPULATIONS = {
    "gait_lda": Population(lambda: gait.walks("test").windows(gait.WINDOW), of_model("gait_lda")),
    "gait_qp_wl": Population(
        lambda: gait.walks("test").windows(gait.WINDOW), of_model("gait_qp_wl")
    ),
    "callers": Population(telephone.lines, of_model("voice_logcov_lda")),
    "voices": Population(lambda: _voices(False), of_model("voice_ge2e_sim")),
    "phones": Population(lambda: phone.walks().windows(phone.WINDOW), _phones),
    "watches": Population(watch.walks, lambda x: watch_baselines.log_euclidean(x)(x.signals)),
    "phones, card of watches": Population(
        lambda: phone.walks().windows(phone.WINDOW),
        lambda x: watch_baselines.log_euclidean(x)(x.signals),
        "watches",
    ),
    "watches, card of phones": Population(
        watch.walks,
        lambda x: watch_baselines.log_euclidean(x)(x.signals),
        "phones, card of watches",
    ),
    "typists": Population(typists, _typing),
    "eyes": Population(
        lambda: eyes.one_eye().windows(eyes.WINDOW),
        lambda x: eye_baselines.quantile_distance(x)(x.signals),
    ),
    "EEG": Population(eeg.trials, _eeg),
}
SMOKE = {
    "made up": Population(
        lambda: made_up_walks(each=6), lambda x: baselines.euclidean(baselines.moments(x.signals))
    )
}


def scores_of(distances, people, enrolled):
    """Computes the scores of each person's later recordings against the first recordings of all
    people.

    Args:
        distances: Distances between all recordings.
        people: People who made the recordings, one per recording.
        enrolled: Largest number of enrolled recordings per person.

    Returns:
        `(scores, owners)`. The scores have shape `(probes, people)`. The owners are the indices of
        the people who made the probes.
    """
    columns, rows, owners = [], [], []
    for name in np.unique(people):
        columns_of_person = np.flatnonzero(people == name)
        if len(columns_of_person) < 2:
            continue
        columns.append(columns_of_person[: min(enrolled, len(columns_of_person) // 2)])
        rows.append(columns_of_person[len(columns_of_person) // 2 :][:PROBES])
        owners += len(rows[-1]) * [len(columns) - 1]
    rows = np.concatenate(rows)
    scores = [
        distances[np.ix_(rows, columns_of_person)].min(axis=1) for columns_of_person in columns
    ]
    return np.stack(scores, axis=1).astype(np.float64), np.array(owners)


def claims_among(scores, owners, group):
    """Returns the scores of all claims in a group, and the claimant and the claimed person of each
    claim.
    """
    rows = np.isin(owners, group)
    probes, claimed = np.broadcast_arrays(owners[rows, None], np.array(group))
    return scores[np.ix_(rows, group)].ravel(), probes.ravel(), claimed.ravel()


def card_of(scores, owners, group, far):
    """Returns a card with one threshold and with statistics of imposters, computed from a group of
    people.
    """
    result, probes, claimed = claims_among(scores, owners, group)
    false = result[probes != claimed]
    row = {"far": far, "value": float(np.quantile(false, far)), "tar": 1.0, "tar_ci95": [0, 1]}
    row |= {"far_ci95": [0, 1], "people": len(group), "trials": len(false), "enrolled": ON_CARD}
    imposters = {"mean": float(false.mean()), "stddev": float(false.std())}
    return {"thresholds": [row], "imposters": imposters}


def groups_of(own, card, far, volunteers, draws, seed):
    """Computes false and true accept rates of random groups.

    Args:
        own: Two tuples `(scores, owners)` of the population, for galleries and for a card.
        card: `(scores, owners)` of another population, which determines the threshold of the model
            card. If None, half of the population `own` determines the threshold.
        far: Desired false accept rate.
        volunteers: Number of people whose recordings determine the threshold.
        draws: Number of groups.
        seed: Seed of the groups.

    Returns:
        Array of shape `(draws, 5)`, or None if there are too few people. For the calibrated
        threshold, there are three columns with the false accept rate, the true accept rate, and the
        upper bound of the false accept rate. For the threshold of the card, there are two columns
        with the false and the true accept rate.
    """
    (scores, owners), of_card = own
    people, needed = scores.shape[1], ENROLLED + volunteers + 2
    card_people = 0 if card is not None else min(people // 2, people - needed)
    if people - card_people < needed or (card is None and card_people < 5):
        return None
    rng, rates = np.random.default_rng(seed), []
    for _ in range(draws):
        names = rng.permutation(people)
        if card is None:
            about = card_of(*of_card, names[:card_people], far)
        else:
            about = card_of(*card, np.arange(card[0].shape[1]), far)
        enrolled = names[card_people : card_people + ENROLLED]
        setting = names[card_people + ENROLLED : card_people + ENROLLED + volunteers]
        strangers = names[card_people + ENROLLED + volunteers :]
        result = calibrated(*claims_among(scores, owners, setting), far, card=about)
        true = scores[np.arange(len(owners)), owners][np.isin(owners, enrolled)]
        false = scores[np.ix_(np.isin(owners, strangers), enrolled)]
        value, of_others = result.value, about["thresholds"][0]["value"]
        rates.append(
            [(false <= value).mean(), (true <= value).mean(), result.far_ci95[1]]
            + [(false <= of_others).mean(), (true <= of_others).mean()]
        )
    return np.array(rates)


def distances_of(name, population, folder):
    """Returns the distances between all recordings and the person of each recording.

    If a file with the distances exists, the function reads this file.
    """
    path = folder / f"{name}.npz"
    if not path.exists():
        people = population.people()
        result = np.asarray(population.distances(people), np.float32)
        with staged(path) as part, part.open("wb") as file:
            np.savez(file, distances=result, people=np.array(list(map(str, people.subjects))))
    with np.load(path) as file:
        return file["distances"], file["people"]


def rates_text(rates, far):
    """Formats the false and the true accept rates of groups as text."""
    false, true, highest = 100 * rates[:, 0], 100 * rates[:, 1], 100 * rates[:, 2]
    card = 100 * rates[:, 3:].mean(axis=0)
    return (
        f"strangers {false.mean():.1f} % (97.5 % of groups up to {np.quantile(false, 0.975):.0f} "
        f"%), above the rate in {100 * (false > 100 * far).mean():.0f} % of groups, inside the "
        f"interval in {100 * (false <= highest).mean():.0f} %; genuine {true.mean():.0f} %; by the "
        f"card as it is {card[0]:.1f} and {card[1]:.0f} %"
    )


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the distances.")] = pathlib.Path(
        "build/few_people"
    ),
    volunteers: Annotated[
        list[int] | None, typer.Option(help="Number of volunteers. [default: 6]")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(help="Populations, instead of all.")] = None,
    draws: Annotated[int, typer.Option(help="Random groups of each population.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the groups.")] = 0,
    smoke: Annotated[bool, typer.Option("--smoke", help=smoke_run.HELP)] = False,
):
    """Prints the rates of random groups for each population, rate and number of volunteers."""
    if smoke:
        with tempfile.TemporaryDirectory() as folder:
            measure_groups(SMOKE, pathlib.Path(folder), [6], [0.05], 2, seed)
        return
    out.mkdir(parents=True, exist_ok=True)
    populations = {name: POPULATIONS[name] for name in only or POPULATIONS}
    measure_groups(populations, out, volunteers or [6], list(HIGHEST), draws, seed)


def measure_groups(populations, out, counts, fars, draws, seed):
    """Prints a line for each combination of number of volunteers, rate and population, and a line
    for all groups together.

    Args:
        populations: Dict from names to `Population`, including the populations of cards.
        out: Folder in which the distances are stored.
        counts: Numbers of volunteers.
        fars: Desired false accept rates.
        draws: Number of groups.
        seed: Seed of the groups.
    """
    result = {name: distances_of(name, first, out) for name, first in populations.items()}
    for count in counts:
        for far in fars:
            everybody = []
            for name, population in populations.items():
                columns_of_person = (
                    scores_of(*result[name], RECORDINGS),
                    scores_of(*result[name], ON_CARD),
                )
                second = population.card
                card = None if second is None else scores_of(*result[second], ON_CARD)
                with warnings.catch_warnings(action="ignore", category=UserWarning):
                    rates = groups_of(columns_of_person, card, far, count, draws, seed)
                if rates is None:
                    continue
                everybody.append(rates)
                print(f"{count} volunteers, {100 * far:g} %, {name}: {rates_text(rates, far)}")
            if everybody:
                together = rates_text(np.concatenate(everybody), far)
                print(f"{count} volunteers, {100 * far:g} %, all: {together}", flush=True)


if __name__ == "__main__":
    typer.run(main)
