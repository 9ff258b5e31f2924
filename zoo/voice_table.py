"""Writes `zoo/voices.md`, which compares all voice models on the same trials. To list the options,
run `python -m zoo.voice_table --help`.

Recipes compute the scores and write them into `build/`. An example is the command
`python -m zoo.voice_ge2e_sim.train --table`.
"""

import pathlib
from typing import Annotated, NamedTuple

import numpy as np
import typer

from keras_dml import evaluation
from keras_dml._files import write_text
from keras_dml.training import page
from zoo import telephone, voices

BOOTSTRAP = 1000

METHODS = {  # title: file of scores, name in it
    "`voice_ge2e_sim`, similarity": ("voice_ge2e_sim", "sim"),
    "`voice_ge2e_sim`, cosine": ("voice_ge2e_sim", "cosine"),
    "`voice_ge2e_sim`, their sum": ("voice_ge2e_sim", "fused"),
    "`voice_ge2e_sim` before training, cosine": ("voice_ge2e_sim", "start"),
    "Resemblyzer's encoder, cosine": ("voice_ge2e_sim", "converted"),
    "Resemblyzer 0.1.4 with its silence trimming, cosine": ("resemblyzer", "cosine"),
    "`voice_xvector_sim`, similarity": ("voice_xvector_sim", "sim"),
    "`voice_xvector_sim`, cosine": ("voice_xvector_sim", "cosine"),
    "`voice_xvector_sim`, their sum": ("voice_xvector_sim", "fused"),
    "`voice_logcov_lda`, similarity": ("voice_logcov_lda", "sim"),
    "`voice_logcov_lda`, cosine": ("voice_logcov_lda", "cosine"),
    "`voice_logcov_lda`, their sum": ("voice_logcov_lda", "fused"),
    "log covariance of cepstra, cosine, nothing trained": ("voice_logcov_lda", "untrained"),
}
PAGE = pathlib.Path(__file__).with_name("voices.md")
TEXT = """# Voices on the same trials

<!-- Written by `python -m zoo.voice_table`. -->

The table compares methods on the actors of RAVDESS (studio) and the callers of Hyke (telephone) in
five folds. If a method is trained, each fold is scored by a model that was not trained on the
people in the fold. On the telephone, `voice_logcov_lda` is measured with the published file, which
was not trained on any caller. Each trial compares two recordings from the same fold and the same
data set. The table contains equal error rates of the pooled trials, with 95 % intervals over people
in brackets. Each heading contains the number of genuine trials and the number of all trials. A
trained method has one model per fold, so the scores of two folds may have different scales. We pool
these scores without scaling, which may raise the error rates. Resemblyzer and the methods without
training have one model for all folds, so their scores have one scale.

{eer}

The error rates in the table above were measured before `keras_dml.layers.SilenceRemoval` was added
to the networks. The page [voice_silence.md](voice_silence.md) contains error rates with this layer.

The next table compares the learned similarity, the cosine of the same embeddings and the sum of
similarity and cosine. The differences between the equal error rates are paired, that is, computed
on the same people. If the interval of a difference contains 0, the difference is not significant.
The sum uses the similarity without scaling. On the card of `voice_logcov_lda`, the similarity is
scaled to a log-likelihood ratio before it is added to the cosine. Therefore the EER of the sum on
RAVDESS differs slightly between the card and this table.

{differences}

`voice_ge2e_sim` centers and scales the encoder's vectors before training. The benefit of centering
and scaling was first observed on the people in these tables. Therefore these people influenced the
decision to center and scale, and their error rates may be too low.

```
python -m zoo.voice_ge2e_sim.train --table
python -m zoo.papers.voice_xvector_sim.train --table
python -m zoo.voice_logcov_lda.table
python -m tests.bench.speakers --resemblyzer PYTHON --table
python -m zoo.voice_table
```
"""
PAIRS = (("sim", "cosine"), ("sim", "fused"), ("fused", "cosine"))


class Part(NamedTuple):
    """Part of the trials, with indices of the trials, labels and pairs of people."""

    title: str
    rows: np.ndarray
    genuine: np.ndarray
    people: tuple

    def eer(self, similarity):
        """Formats the EER of a method's similarities, such as `82.1 % [80.0 to 84.0]`."""
        result = evaluation.verification(
            -similarity[self.rows], self.genuine, people=self.people, bootstrap=BOOTSTRAP
        )
        low, high = result.intervals["eer"]
        return f"{100 * result.eer:.1f} % [{100 * low:.1f} to {100 * high:.1f}]"

    def difference(self, first, second):
        """Formats the paired difference between the EERs of two methods, such as
        `+0.2 points [-0.4 to +0.6]`.
        """
        result = evaluation.eer_difference(
            -first[self.rows],
            -second[self.rows],
            self.genuine,
            people=self.people,
            bootstrap=BOOTSTRAP,
        )
        value, low, high = (_signed(100 * bound) for bound in (result.value, *result.ci95))
        return f"{value} points [{low} to {high}]"


def _signed(value):
    """Formats a number with its sign, such as `+0.2`. Zero never has a minus sign."""
    return f"{round(value, 1) + 0.0:+.1f}"


def parts(people):
    """Divides the trials into parts. Each part is a column of the table.

    Args:
        people: Output of `voices.everybody`.
    """
    trials = voices.trials(people, voices.folds(people.subjects))
    subjects = np.asarray(people.subjects)
    first, second, genuine, _ = trials
    far = voices.is_telephone(subjects)[first]
    enrolled = telephone.with_line_1(np.asarray(people.sessions)[[first, second]])
    wanted = {
        "RAVDESS, single pairs": ~far,
        "Hyke, single pairs": far,
        "Hyke, line 1 enrolled": far & enrolled,
    }
    return [
        Part(title, rows, genuine[rows], (subjects[first[rows]], subjects[second[rows]]))
        for title, rows in wanted.items()
    ]


def tables(scores, columns):
    """Returns two tables. The first table contains the EER of each method, and the second table
    contains the paired differences between the EERs of the scores of a model.

    Args:
        scores: `scores[model][name]` contains similarities. If a model or a name is missing, the
            tables do not contain it.
        columns: Output of `parts`.
    """
    titles = [f"{part.title} ({part.genuine.sum():,} of {len(part.genuine):,})" for part in columns]
    rows = [
        (title, *(part.eer(scores[model][name]) for part in columns))
        for title, (model, name) in METHODS.items()
        if name in scores.get(model, ())
    ]
    compared = [
        (
            f"`{model}`",
            f"{first} − {second}",
            *(part.difference(a[first], a[second]) for part in columns),
        )
        for model, a in scores.items()
        for first, second in PAIRS
        if {first, second} <= a.keys()
    ]
    return (
        page.markdown_table(("method", *titles), rows),
        page.markdown_table(("model", "difference of EER", *titles), compared),
    )


def main(
    folder: Annotated[
        pathlib.Path,
        typer.Option(help="Folder in which the runs of recipes wrote MODEL_0/scores.npz."),
    ] = pathlib.Path("build"),
):
    """Writes the tables of equal error rates and of differences into `zoo/voices.md`."""
    names = dict.fromkeys(model for model, _ in METHODS.values())
    paths = {name: folder / f"{name}_0" / voices.SCORES for name in names}
    scores = {name: dict(np.load(path)) for name, path in paths.items() if path.exists()}
    eer, differences = tables(scores, parts(voices.everybody()))
    write_text(PAGE, TEXT.format(eer=eer, differences=differences))
    print(f"{eer}\n\n{differences}\n\n{PAGE}")


if __name__ == "__main__":
    typer.run(main)
