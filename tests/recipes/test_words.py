"""Tests that published model files reproduce the figures in the sentences of model cards.

The tests evaluate the files on the real recordings. `test_headlines` tests the figures in the
tables of cards.
"""

import functools
import re

import numpy as np
import pytest

from keras_dml import evaluation, zoo
from keras_dml.training import People, measure, trials
from keras_dml.zoo import catalog
from tests import memory
from tests.zoo.test_pages import cells
from zoo import (
    eeg,
    eeg_bands,
    evidence,
    gait,
    speech,
    voice_classifiers,
    voice_evidence,
    voice_table,
    voices,
)

pytestmark = pytest.mark.slow


def words(name):
    """Returns all sentences of a card as one text."""
    card = zoo.card(name)
    return " ".join([card["figures_are"], *card["limits"]])


def numbers(text):
    """Returns the numbers with one decimal in a text."""
    return [float(number) for number in re.findall(r"\d+\.\d", text)]


def eer(found, rows=slice(None)):
    """Computes the EER of some trials with an interval over people, in the format of cards."""
    people = tuple(side[rows] for side in found.people)
    rate = evaluation.verification(
        found.scores[rows], found.genuine[rows], people=people, bootstrap=1000
    )
    return catalog.with_interval(rate.eer, rate.intervals["eer"])


def differing_walkers():
    """Computes the EER if the distances of two gait models are added.

    Returns:
        EER of the sum, and the difference to the EER of `gait_lda` alone.
    """
    test = gait.walks("test").windows(gait.WINDOW)
    parts = [gait.walks(split) for split in gait.KNOWN]
    known = functools.reduce(People.__add__, parts).windows(gait.WINDOW)

    def distances(name, least):  # the smallest distance is subtracted, -1 for negated cosines
        def between(signals):
            return measure.pairwise_distances(zoo.load(name), signals) - least

        return between(test.signals) / measure.distance_unit(between, known)

    def of(table):
        return trials.latest_against_earlier(table, test.subjects, test.sessions)

    alone = distances("gait_lda", -1)
    both, alone = of(alone + distances("gait_qp_wl", 0)), of(alone)
    less = evaluation.eer_difference(
        both.scores, alone.scores, both.genuine, people=both.people, bootstrap=1000
    )
    return eer(both), catalog.points(less.value, less.ci95)


def test_two_distances_of_walkers_added(data_dir):
    both, difference = memory.in_new_process(differing_walkers)
    said = words("gait_qp_wl")
    assert f"distances has a pooled EER of {both}" in said
    assert f"alone is {difference}. The sum is not significantly better" in said


def patients():
    """Computes the EER of trials within the patients and within the controls.

    Returns:
        EER, number of imposter trials, and ids of the probes.
    """
    found = evidence.of_published("eeg_spdnet_rpl").measured.trials
    # ids of patients begin with co2a, and ids of controls with co2c
    groups = np.array([[name[:4] for name in side] for side in found.people])
    alike = groups[0] == groups[1]
    return eer(found, alike), int((alike & ~found.genuine).sum()), set(found.probes)


def test_patients_and_controls_among_themselves(data_dir):
    rate, imposters, probes = memory.in_new_process(patients)
    said = words("eeg_spdnet_rpl")
    assert f"The EER stays at {rate} if all imposters of a patient are patients" in said
    assert f"are controls ({imposters} imposter trials, " in said
    ill = {name for name in probes if name.startswith("co2a")}
    assert (len(ill), len(probes)) == (8, 17) and "Eight of the seventeen" in said


def band(low, high):
    """Returns the row of the table with the EER of a frequency band of EEG. The EER is measured
    without a network.
    """
    rows = eeg_bands.measured(eeg.trials(), low, high).headline["rows"]
    (rate,) = [row for row in rows if row["metric"] == "eer"]
    return rate


@pytest.mark.parametrize(("low", "high"), eeg_bands.BANDS)
def test_a_band_of_eeg_without_a_network(low, high, data_dir):
    rate = memory.in_new_process(band, low, high)
    least, most = (f"{100 * bound:.0f}" for bound in rate["ci95"])
    said = f"{100 * rate['value']:.1f} % [{least} to {most}] at {low} to {high} Hz"
    assert said in words("eeg_spdnet_rpl")


def trained_voices(prepare):
    """Evaluates a voice model on the speakers used in training.

    Returns:
        EER in percent, and the rank correlation of the learned similarity and the cosine.
    """
    heard = speech.utterances(prepare)
    first, second, genuine, _ = speech.trials(heard.subjects, speech.folds(heard.subjects))
    model = zoo.load("voice_logcov_lda")
    scores = voice_classifiers.scores(model, heard.signals, np.array([first, second]))
    rate = evaluation.verification(-scores["sim"], genuine).eer
    order = [np.argsort(np.argsort(scores[name])) for name in ("sim", "cosine")]
    return 100 * rate, np.corrcoef(order)[0, 1]


def test_voices_that_were_trained_on(data_dir):
    trimmed, rank = memory.in_new_process(trained_voices, True)
    whole, _ = memory.in_new_process(trained_voices, False)
    said = words("voice_logcov_lda")
    assert (
        f"{trimmed:.1f} % with trimmed and scaled recordings and {whole:.1f} % with unchanged"
        in said
    )
    assert f"rank correlation between the similarity and the cosine is .{100 * rank:.0f}" in said


def unheard_voices():
    """Computes rows of the table of voices for methods that were not trained on the speakers of the
    table.

    Returns:
        Dict from the title of a row to the EER of each column. One row is for a method without
        training. The other rows are for a published model file, evaluated on telephone callers who
        were not used to train it.
    """
    heard = voices.everybody(prepare=True)
    columns = voice_table.parts(heard)
    first, second, *_ = voices.trials(heard, voices.folds(heard.subjects))
    untrained = -voice_evidence.untrained(heard.signals, (first, second))
    title = "log covariance of cepstra, cosine, nothing trained"
    figures = {title: {i: columns[i].eer(untrained) for i in range(3)}}
    memory.give_back()

    far = np.flatnonzero(voices.is_telephone(heard.subjects))
    callers = np.isin(first, far)
    rows = np.searchsorted(far, (first[callers], second[callers]))
    signals = [heard.signals[i] for i in far]
    model = voice_classifiers.without_silence_removal(zoo.load("voice_logcov_lda"))
    for score, found in voice_classifiers.scores(model, signals, rows).items():
        every = np.zeros(len(first))
        every[callers] = found
        title = {"sim": "similarity", "fused": "their sum"}.get(score, score)
        figures[f"`voice_logcov_lda`, {title}"] = {i: columns[i].eer(every) for i in (1, 2)}
    return figures


@pytest.mark.slow
def test_rows_of_the_table_of_voices_for_which_nothing_is_trained(data_dir):
    """Tests the rows of a method without training. The test also checks the rows of a model file
    for callers who were not used to train it.
    """
    table = {row[0]: row for row in cells(voice_table.PAGE.read_text(encoding="utf-8"))}
    figures = memory.in_new_process(unheard_voices)
    assert len(figures) == 4
    for title, columns in figures.items():
        for i, measured in columns.items():
            read = numbers(table[title][1 + i])
            np.testing.assert_allclose(read, numbers(measured), rtol=0, atol=0.11, err_msg=title)
