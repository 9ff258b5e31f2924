"""Writes `zoo/keystrokes.md`, which compares methods that recognize people by how they type. To
list the options, run `python -m zoo.keystroke_table --help`.
"""

import pathlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, inference
from keras_dml._files import write_text
from keras_dml.training import page, write_json
from keras_dml.zoo.catalog import read_json
from zoo import keystroke_text, keystrokes

PAGE = pathlib.Path(__file__).with_name("keystrokes.md")
BOOTSTRAP = 200  # replicates
FARS = (0.01, 0.001, 0.0001)
HALVES = 200
SCORINGS = ("two_covariance", "mean", "nearest")
CLOSED = "closed form, scoring `{}`"
L1 = "L1 distance of quantiles, nothing trained"
COUNTS = {1: "one sentence", keystrokes.PROBES: "five sentences"}


def figures(claims, bootstrap=BOOTSTRAP):
    """Returns the EER and the TARs of trials with 95 % intervals over people, and the numbers of
    people and trials.
    """
    options = {"people": claims.people, "bootstrap": bootstrap}
    result = evaluation.verification(claims.scores, claims.genuine, **options)
    row = {"eer": [result.eer, *result.intervals["eer"]]}
    for far in FARS:
        threshold = evaluation.threshold_at_far(claims.scores, claims.genuine, far).value
        rates = evaluation.accept_rates(claims.scores, claims.genuine, threshold, **options)
        row[f"tar_{far:g}"] = [rates.tar, *rates.tar_ci95]
    people = len(np.unique(claims.probes))
    return row | {"people": people, "genuine": rates.genuine, "imposter": rates.imposter}


def methods(model, typed, embeddings=None):
    """Returns the trials of each method on the same sentences, as `{(method, count): Claims}`.

    Args:
        model: Model of the closed form.
        typed: `People` to whom the model was not fitted.
        embeddings: Embeddings of the model. Default: they are computed.
    """
    if embeddings is None:
        embeddings = inference.embed(model, typed.signals, keystrokes.BATCH, progress=False)
    compared = {
        CLOSED.format(name): (keystrokes.by_scoring(model, name), embeddings) for name in SCORINGS
    }
    compared[L1] = keystrokes.nearest_l1, keystrokes.untrained_quantiles(typed)
    return {
        (name, count): keystrokes.claims(compare, values, typed, count)
        for name, (compare, values) in compared.items()
        for count in COUNTS
    }


def split(out):
    """Measures all methods on the people of the split `test`, and sentences that nobody in the
    training data typed.
    """
    train = keystrokes.typists(keystrokes.KNOWN).people
    model = keystrokes.closed_form(train)
    model.save(out / "closed_form.keras")
    typed = keystrokes.typists(keystrokes.UNSEEN)
    embeddings = inference.embed(model, typed.people.signals, keystrokes.BATCH, progress=False)
    np.savez(out / "test.npz", embeddings=embeddings)
    trials = methods(model, typed.people, embeddings)
    rows = [
        {"method": name, "sentences": count, **figures(claimed)}
        for (name, count), claimed in trials.items()
    ]
    compare = keystrokes.by_scoring(model, SCORINGS[0])
    best = {  # one trial for each pair of people
        count: keystrokes.claims(compare, embeddings, typed.people, count, probes=count)
        for count in COUNTS
    }
    return {"rows": rows, "certificates": certificates(best), "halves": halves(best)}


def certificates(trials):
    """Returns thresholds for false accept rates, with intervals for other people."""
    rows = []
    for count, claimed in trials.items():
        false = ~claimed.genuine
        pairs = claimed.probes[false], claimed.claims[false]
        for far in FARS:
            row = {"sentences": count, "far": far}
            try:
                certified = evaluation.certificate(claimed.scores[false], pairs, far)
            except ValueError as error:
                rows.append({**row, "error": str(error)})
                continue
            accepted = claimed.scores[claimed.genuine] <= certified.threshold
            rows.append(
                {
                    **row,
                    "threshold": certified.threshold,
                    "ci95": list(map(float, certified.ci95)),
                    "independent": float(certified.independent),
                    "strictest": float(certified.strictest),
                    "tar": float(accepted.mean()),
                }
            )
    return rows


def halves(trials, seed=0):
    """Sets thresholds on random halves of the people, and measures the false accept rates of the
    other halves.
    """
    rng, rows = np.random.default_rng(seed), []
    for count, claimed in trials.items():
        names = np.unique(claimed.probes)
        rates = {
            (rule, far): []
            for rule, fars in (("certificate", FARS[:2]), ("promise", FARS[:1]))
            for far in fars
        }
        within = {key: 0 for key in rates}
        for _ in range(HALVES):
            half = rng.permutation(names)[: len(names) // 2]
            sides = [np.isin(side, half) for side in claimed.people]
            false = ~claimed.genuine
            first, second = false & sides[0] & sides[1], false & ~sides[0] & ~sides[1]
            pairs = claimed.probes[first], claimed.claims[first]
            for rule, far in rates:
                result = getattr(evaluation, rule)(claimed.scores[first], pairs, far)
                rate = float((claimed.scores[second] <= result.threshold).mean())
                rates[rule, far].append(rate)
                low, high = result.ci95
                within[rule, far] += low <= rate <= high
        for (rule, far), values in rates.items():
            low, median, high = np.percentile(values, [2.5, 50, 97.5])
            rows.append(
                {
                    "sentences": count,
                    "rule": rule,
                    "far": far,
                    "mean": float(np.mean(values)),
                    "percentiles": [float(low), float(median), float(high)],
                    "above": float(np.mean(np.array(values) > far)),
                    "within": within[rule, far] / HALVES,
                }
            )
    return rows


def folds(out):
    """Measures the closed form on all people. The model of a fold is not fitted to its people."""
    typed = keystrokes.typists().people
    parts = {count: [] for count in COUNTS}
    for group in keystrokes.groups(typed.subjects):
        model = keystrokes.closed_form(typed.without(set(group)))
        tested = typed.select(set(group))
        embeddings = inference.embed(model, tested.signals, keystrokes.BATCH, progress=False)
        compare = keystrokes.by_scoring(model, SCORINGS[0])
        for count in COUNTS:
            parts[count].append(keystrokes.claims(compare, embeddings, tested, count))
    return {
        "rows": [
            {"sentences": count, **figures(keystrokes.join(part))} for count, part in parts.items()
        ],
        "folds": [
            {
                "sentences": count,
                "eer": [float(evaluation.verification(c.scores, c.genuine).eer) for c in part],
            }
            for count, part in parts.items()
        ],
    }


PARTS = {"split": split, "folds": folds, "text": keystroke_text.measure}
TEXT = """# Recognizing people by how they type

<!-- Written by `python -m zoo.keystroke_table`. -->

The table compares methods on the people of the split `test` of the data set `aalto_keystrokes`. The
first five sentences of each person are enrolled. The next five sentences are probes, either one by
one or all five together. Each probe is compared with all people, and one threshold applies to all
trials. The models are fitted to the people of the splits `train` and `validation`. Nobody typed a
sentence twice, so all sentences in a genuine trial are different. Brackets contain 95 % intervals
over people ({draws} replicates). The certificates below state for which false accept rates (FAR) so
many people suffice.

**Each person typed all sentences in one sitting, on one keyboard.** Other days, other keyboards and
free text are not measured. The keyboard, the browser and the computer also change the measured
times, and this data cannot separate their effect from the effect of the person.

{rows}

- The closed form consists of `KeystrokeResiduals`, `KeystrokeStatistics` and `TwoCovariance`. The
  scoring combines several sentences into one score, see `keras_dml.scoring`. The three scorings use
  the same embeddings.
- The method without training computes nine quantiles of the logarithms of the hold times and of the
  times between presses, for letters and for other keys. It compares quantiles by the L1 distance.

The quantile layer and the Wasserstein loss of Abdelwahab2019 lose to the closed form so far. A
small network (three convolutions with 32 filters, 1,500 steps, 1,097 people, settings not searched)
has an EER of 7.1 % with one sentence and 3.6 % with five sentences, on the trials of the table and
with the scoring `nearest`. If the two-covariance model is fitted to its quantiles, the EER is 5.5
and 2.0 %, and the TAR at FAR 0.1 % with five sentences is 72 %. These figures are from one training
run and have no intervals. Networks with the n-pair loss were not trained. The command is
`python -m zoo.keystroke_qp_wl.train`.

## All people

Five folds of people. The closed form of each fold is fitted to the people of the other folds, so
each person is tested once. A probe is compared only with the people of its fold.

{folds}

The number of coordinates (30), the limit of the features and the groups of key presses were chosen
on people of the splits `train` and `validation`. These people are among the people of this table. A
first comparison of groups of features was made on a random division of all people, and thus also
used people of the split `test`. The comparison was repeated without these people, with the same
result.

## Thresholds

Certificates of `evaluation.certificate` for the closed form with the scoring `two_covariance`, from
one trial for each pair of people of the split `test`. "Independent" is the number of independent
pairs that carry as much information as the trials. "Lowest" is the lowest FAR that these people
support. The upper bound of a certificate assumes that half of the false claims of one further
person are accepted. With 549 people, the upper bound is therefore never below 0.4 %.

{certificates}

We also divided the people of the split `test` at random into two halves, {halves} times. A
threshold was set on one half, and the FAR was measured on the other half. `promise` for a FAR of
0.1 % needs about 1,000 people in one half, and was not measured.

{promises}

## Sentences

A classifier tries to read the sentence from the embedding. It learns on some people of the split
`test`, and is tested on other people of this split. There are {count} sentences, {recordings}
recordings and {people} people. With 60 coordinates instead of 30, the accuracy was 8.6 % with
nearly the same error rates. The classifier is logistic regression. Another classifier, or more
recordings of the same sentences, may read more.

{classifier}

A second test uses sentences that nobody in the training data typed (config `new_sentences`). The
people of the split `test` are compared by two models. The first model is fitted to one half of the
sentences, and all sentences in the trials are from the other half. The second model is fitted to
all sentences of the same people.

{new}

## Other systems

These figures are from other people and other conditions, so they cannot be compared exactly.

{others}

```
python -m zoo.keystroke_table
```
"""

OTHERS = [
    (
        "TypeNet (Acien2022)",
        "2.2 %",
        "five sequences of 50 keys enrolled and one sequence as the probe, network trained on "
        "68,000 people of the same data set",
    ),
    (
        "earlier version of TypeNet (Acien2020)",
        "4.8 %",
        "five sequences of 50 keys enrolled and one sequence as the probe, 1,000 people tested",
    ),
    (
        "best system of KVC-onGoing (Stragapede2025)",
        "3.33 %",
        "desktop, 15,000 people tested, 11.96 % of the genuine trials rejected at a FAR of 1 %",
    ),
]


def percent(values, digits=1):
    """Formats a rate with its interval, such as `4.1 % [3.5 to 4.8]`."""
    value, low, high = (f"{100 * value:.{digits}f}" for value in values)
    return f"{value} % [{low} to {high}]"


def render(results):
    """Returns the page.

    Args:
        results: Results of the parts, `{name: result}`.
    """
    rates = [f"tar_{far:g}" for far in FARS]
    titles = ["EER", *(f"TAR at FAR {100 * far:g} %" for far in FARS), "people", "trials"]

    def row(figures):
        trials = f"{figures['genuine']:,} genuine, {figures['imposter']:,} imposter"
        return [*(percent(figures[key]) for key in ("eer", *rates)), figures["people"], trials]

    measured, text = results["split"], results["text"]
    sentences = [COUNTS[row["sentences"]] for row in measured["certificates"]]
    first = next(row for row in measured["rows"] if row["sentences"] == 1)
    ours = (
        "closed form of this page",
        percent(first["eer"]),
        "five sentences (47 keys in the median) enrolled and one sentence as the probe, "
        f"{first['people']} people tested, fitted to 1,280 people",
    )
    return TEXT.format(
        rows=page.markdown_table(
            ["method", "probe", *titles],
            [[r["method"], COUNTS[r["sentences"]], *row(r)] for r in measured["rows"]],
        ),
        folds=page.markdown_table(
            ["probe", *titles],
            [[COUNTS[r["sentences"]], *row(r)] for r in results["folds"]["rows"]],
        ),
        certificates=page.markdown_table(
            ["probe", "FAR", "FAR of other people, 95 %", "TAR", "independent", "lowest"],
            [
                [name, f"{100 * r['far']:g} %", *_certificate(r)]
                for name, r in zip(sentences, measured["certificates"], strict=True)
            ],
        ),
        draws=BOOTSTRAP,
        halves=HALVES,
        promises=page.markdown_table(
            ["probe", "rule", "FAR", "mean", "2.5 % to 97.5 %", "above the FAR", "in the interval"],
            [
                [
                    COUNTS[r["sentences"]],
                    f"`{r['rule']}`",
                    f"{100 * r['far']:g} %",
                    f"{100 * r['mean']:.3g} %",
                    "{:.3g} to {:.3g} %".format(*(100 * x for x in r["percentiles"][::2])),
                    f"{100 * r['above']:.0f} %",
                    f"{100 * r['within']:.0f} %",
                ]
                for r in measured["halves"]
            ],
        ),
        count=text["classifier"]["sentences"],
        recordings=f"{text['classifier']['recordings']:,}",
        people=text["classifier"]["people"],
        classifier=page.markdown_table(
            ["input of the classifier", "accuracy"],
            [
                [
                    "none (the most frequent sentence)",
                    f"{100 * text['classifier']['chance']:.1f} %",
                ],
                *(
                    [name, f"{100 * accuracy:.1f} %"]
                    for name, accuracy in text["classifier"]["accuracy"].items()
                ),
            ],
        ),
        new=page.markdown_table(
            ["fitted to", "probe", "EER", "people"],
            [
                [r["fitted to"], COUNTS[r["sentences"]], percent(r["eer"]), r["people"]]
                for r in text["new_sentences"]["rows"]
            ],
        ),
        others=page.markdown_table(["system", "EER", "conditions"], [*OTHERS, ours]),
    )


def _certificate(row):
    if "error" in row:
        return ["not supported", "–", "–", "–"]
    low, high = (f"{100 * bound:.2g}" for bound in row["ci95"])
    lowest = f"{100 * row['strictest']:.2g} %"
    return [f"{low} to {high} %", f"{100 * row['tar']:.1f} %", f"{row['independent']:,.0f}", lowest]


def main(
    out: Annotated[pathlib.Path, typer.Option(help="Folder of the results.")] = pathlib.Path(
        "build/keystrokes"
    ),
    part: Annotated[list[str] | None, typer.Option(help="Parts to measure. Default: all.")] = None,
):
    """Measures the parts of the page. If all parts are measured, writes the page."""
    out.mkdir(parents=True, exist_ok=True)
    for name in part or PARTS:
        write_json(out / f"{name}.json", PARTS[name](out))
        print(name, flush=True)
    files = {name: out / f"{name}.json" for name in PARTS}
    if all(file.exists() for file in files.values()):
        write_text(PAGE, render({name: read_json(file) for name, file in files.items()}))
        print(PAGE)


if __name__ == "__main__":
    typer.run(main)
