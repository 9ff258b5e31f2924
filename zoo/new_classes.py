"""Measures how accurately old classes and added classes are recognized among all classes.

The encoders are trained without the new classes, see `zoo.class_splits`. To list the options, run
`python -m zoo.new_classes --help` from the checkout.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import typer
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from keras_dml import evaluation, training
from keras_dml._backend import ops
from keras_dml._files import write_text
from keras_dml.geometry import vector
from keras_dml.layers import PrototypeSimilarity
from keras_dml.training.page import markdown_table
from zoo import class_splits

PAGE = pathlib.Path(__file__).with_name("new_classes.md")
SHOTS = (1, 5)
DRAWS = {"digits": 10, "omniglot": 1, "speakers": 10, "cifar10": 10}  # of support, for each split
REGRESSION_EXAMPLES = 100  # of each old class that train the logistic regression
ADDED, SIMILARITY, MEAN, REGRESSION = METHODS = (
    "`add_classes`",
    "similarity alone (`add_classes` until now)",
    "nearest class mean",
    "logistic regression",
)
TITLES = {
    "digits": "Digits of scikit-learn",
    "omniglot": "Omniglot",
    "speakers": "Speakers of the README",
    "cifar10": "CIFAR-10",
}
FIGURES = ("new", "old", "harmonic_mean")
TEXT = """# New classes among all classes

<!-- Written by `python -m zoo.new_classes`. -->

`PrototypicalClassifier.add_classes` adds classes after training. The tables on this page contain
the accuracy of the classifier if it chooses among **all** classes. The tables contain the accuracy
on examples of the new classes, the accuracy on examples of the old classes, and the harmonic mean
of these two accuracies. The published models of digits and photographs were trained on all ten
classes. Therefore small encoders were trained on fewer classes for this page. These encoders were
not trained on the new classes in this table:

{data}

The support examples of the new classes are drawn from the training part of the data, and the
figures are measured on the test part. Brackets contain 95 % intervals over the splits, by Student's
t. The value of a split is the mean over {draws} draws of the support (one draw for Omniglot). The
same class may occur in several splits of a data set. Therefore the intervals are too narrow for
classes that occur in none of the splits. All methods use the same embeddings. The nearest class
mean uses the Euclidean distance. Logistic regression (scikit-learn, standardized embeddings,
balanced classes) trains on the support and on up to {regression} training examples per old class.
`add_classes` does not need these training examples. Before we added classes, we called
`refit_prototypes`, which measures the variance of the examples of old classes. The published files
do not contain this variance. If you have training examples, call `refit_prototypes` before you add
classes. If the nearest class mean or logistic regression is more than 3 points better than
`add_classes`, the accuracy of `add_classes` is bold.

{tables}

After classes were added, the learned similarity still decides among the old classes. Therefore the
accuracy is low if the encoder was trained for too few steps. We added classes from alphabets that
were not used in training, with five examples per class. With an Omniglot encoder that was trained
for 300 steps, the harmonic mean was 57.0 % for `add_classes` and 65.2 % for logistic regression.
With an encoder that was trained for 1,500 steps, the harmonic mean was 87.2 % for `add_classes` and
85.2 % for logistic regression. Therefore the Omniglot encoder is trained for 1,500 steps.

## How the method was chosen

{choice}

## Run it again

```
python -m zoo.new_classes --out build/new_classes
```

The command trains the encoders, prints the tables and writes this page. `--phase choice` prints the
figures of the other splits, on which the method was chosen. In these other splits, the new classes
of the tables above do not occur.
"""
CHOICE = """The method of `add_classes` was chosen on splits with other classes of digits, speakers
and photographs. Omniglot was not used for this choice. The figures are harmonic means with five
examples per new class unless another number is given. We compared three methods:

1. *The similarity plus an offset.* An offset changes only the choice between old and new classes.
   An offset does not change the choice among the new classes. If only the two new digits are
   candidates, the similarity classifies 75 % of the examples correctly, and the nearest class mean
   classifies 94 % correctly. Therefore no offset makes the similarity as accurate as the nearest
   class mean. We also combined the two methods: the nearest class mean decided between old and new
   classes, and the similarity decided among the new classes. The harmonic mean was 80 % with this
   combination, and 92 % with the nearest class mean alone.
2. *Whitened distances plus an offset.* The offset is calibrated on simulated examples around the
   class means. The harmonic mean is 95 % on digits, but only 27 to 42 % on photographs, because
   some new classes vary more and some vary less than the training classes.
3. *Whitened distances minus the increase that few examples cause.* This is the published method.
   The covariance is shrunk toward equal variances, with a weight of .5.

| weight of equal variances | .3 | .6 | .8 | .9 | 1 |
| --- | --- | --- | --- | --- | --- |
| digits, 1 example | 86.9 % | 88.2 % | 87.3 % | 86.9 % | 85.2 % |
| digits, 5 examples | 95.7 % | 95.3 % | 94.5 % | 93.6 % | 91.9 % |
| speakers, 1 example | 82.0 % | 81.0 % | 79.6 % | 77.7 % | 73.1 % |
| speakers, 5 examples | 94.9 % | 93.2 % | 90.1 % | 87.3 % | 81.8 % |
| photographs, 1 example | 31.1 % | 37.4 % | 39.8 % | 40.7 % | 40.4 % |
| photographs, 5 examples | 46.1 % | 46.4 % | 46.2 % | 46.5 % | 45.9 % |"""
DATA = {
    "digits": (
        "two convolutions, 64 features, 400 steps",
        "the other eight",
        "each pair of 6, 7, 8, 9",
    ),
    "omniglot": (
        "four convolutions, 64 features, 1,500 steps",
        "characters of three of the 30 training alphabets",
        "all characters of an alphabet; every second alphabet of the evaluation set",
    ),
    "speakers": (
        "one dense layer, 32 features, 200 steps",
        "the other seven",
        "each pair of the last four",
    ),
    "cifar10": (
        "four convolutions, 64 features, 400 steps",
        "the other eight",
        "pairs of the last four",
    ),
}

Names = Annotated[list[str] | None, typer.Argument(help="digits, omniglot, speakers, cifar10.")]
Out = Annotated[pathlib.Path, typer.Option(help="Folder for encoders, embeddings and figures.")]
Phase = Annotated[
    str,
    typer.Option(
        help="`measured` uses the splits of the page. `choice` uses the splits for choosing "
        "settings."
    ),
]


def measure(
    classifier,
    split: class_splits.Split,
    support: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    shots: int,
    draws: int,
) -> dict[str, list[float]]:
    """Computes the figures of all methods on a split. The figures are means over several draws of
    the support examples.

    Args:
        classifier: Trained `PrototypicalClassifier` with a learned similarity.
        split: `zoo.class_splits.Split`.
        support: Embeddings and class ids of the training part.
        test: Embeddings and class ids of the test part.
        shots: Number of support examples per new class.
        draws: Number of draws of the support examples.

    Returns:
        Dictionary from methods to figures in the order of `FIGURES`.
    """
    rows = np.isin(support[1], split.old)
    old, labels = support[0][rows], np.searchsorted(split.old, support[1][rows])
    classes = np.array([*split.old, *split.new])
    rows = np.isin(test[1], classes)
    z, truth = test[0][rows], test[1][rows]
    figures = {method: [] for method in METHODS}
    for draw in range(draws):
        rng = np.random.default_rng((draw, shots))
        rows, new = support_rows(support[1], split.new, shots, rng)
        for method, scores in zip(
            METHODS, scores_of(classifier, old, labels, support[0][rows], new, z, rng), strict=True
        ):
            predicted = classes[np.argmax(scores, axis=1)]
            accuracy = evaluation.generalized_accuracy(predicted, truth, split.new)
            figures[method].append([getattr(accuracy, name) for name in FIGURES])
    return {method: np.mean(values, axis=0).tolist() for method, values in figures.items()}


def support_rows(
    labels: np.ndarray, new: Sequence[int], shots: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws support examples. Returns the indices and the classes of the drawn examples. Classes
    are numbered from 0.
    """
    rows = [rng.choice(np.flatnonzero(labels == k), shots, replace=False) for k in new]
    return np.concatenate(rows), np.repeat(np.arange(len(new)), shots)


def scores_of(
    classifier,
    old: np.ndarray,
    labels: np.ndarray,
    support: np.ndarray,
    new: np.ndarray,
    z: np.ndarray,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Computes the scores of embeddings with each of `METHODS`. The scores of a method have shape
    `(count, classes)`.

    Args:
        classifier: Trained `PrototypicalClassifier`.
        old: Training embeddings of the old classes.
        labels: Classes of `old`, numbered from 0.
        support: Support embeddings of the new classes.
        new: Classes of `support`, numbered from 0.
        z: Embeddings to score.
        rng: Generator that draws the examples of the logistic regression.
    """
    head = classifier.prototypes_layer
    layer = PrototypeSimilarity.from_config(
        {
            **head.get_config(),
            "class_names": None,
            "classes": int(labels.max()) + 1,
            "has_spread": False,
        }
    )
    layer.build(old.shape)
    layer.similarity.set_weights(head.similarity.get_weights())
    layer.refit(old, labels)
    layer.add_classes([f"new {k}" for k in range(new.max() + 1)], support, new)
    z = ops.convert_to_tensor(z)
    means = ops.convert_to_tensor(layer.prototypes)
    rows = np.concatenate(
        [
            rng.permutation(np.flatnonzero(labels == k))[:REGRESSION_EXAMPLES]
            for k in np.unique(labels)
        ]
    )
    regression = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=200)
    )
    regression.fit(
        np.concatenate([old[rows], support]),
        np.concatenate([labels[rows], layer.classes - new.max() - 1 + new]),
    )
    return [
        np.asarray(layer(z)),
        np.asarray(layer.similarity(z, means)),
        -np.asarray(vector.squared_euclidean(z, means)),
        regression.decision_function(np.asarray(z)),
    ]


def with_interval(values: Sequence[float]) -> str:
    """Formats the mean over splits and its 95 % interval, by Student's t distribution, in
    percent.
    """
    values = 100 * np.asarray(values)
    mean, error = values.mean(), stats.sem(values)
    low, high = mean + error * stats.t.ppf([0.025, 0.975], len(values) - 1)
    return f"{mean:.1f} % [{max(low, 0):.0f} to {min(high, 100):.0f}]"


def table(figures: Mapping[Any, Mapping[str, Any]]) -> str:
    """Returns the table of a data set. The table contains a row for each method with each number of
    support examples.

    Args:
        figures: `figures[shots][method]` is a list that contains the values of `FIGURES` for each
            split.
    """
    rows = []
    for shots, by_method in figures.items():
        means = {method: np.mean(values, axis=0)[2] for method, values in by_method.items()}
        best = max(means[MEAN], means[REGRESSION])
        for method in METHODS:
            cells = [with_interval(column) for column in np.transpose(by_method[method])]
            if method == ADDED and means[method] < best - 0.03:
                cells[2] = f"**{cells[2]}**"
            rows.append([shots, method, *cells])
    return markdown_table(
        ["examples of a new class", "method", *(name.replace("_", " ") for name in FIGURES)], rows
    )


def measure_data_set(name: str, phase: str, out: pathlib.Path) -> dict[str, Any]:
    """Computes the figures of all splits of a data set, or reads them from a file in `out` if they
    were stored.
    """
    path = out / f"{name}_{phase}.json"
    if not path.exists():
        figures = {shots: {method: [] for method in METHODS} for shots in SHOTS}
        for split in class_splits.splits(name, phase):
            parts = class_splits.embed(name, split, out)
            for shots in SHOTS:
                for method, values in measure(
                    parts[0], split, *parts[1:], shots, DRAWS[name]
                ).items():
                    figures[shots][method].append(values)
        training.write_json(path, figures)
    return json.loads(path.read_text(encoding="utf-8"))


def main(
    names: Names = None,
    out: Out = pathlib.Path("build/new_classes"),
    phase: Phase = class_splits.MEASURED,
):
    """Measures how accurately old classes and added classes are recognized among all classes.

    Writes `zoo/new_classes.md` if all four data sets are measured.
    """
    tables = {}
    for name in names or class_splits.DOMAINS:
        tables[name] = table(measure_data_set(name, phase, out))
        print(f"{TITLES[name]}\n\n{tables[name]}\n", flush=True)
    if phase == class_splits.MEASURED and set(tables) == set(class_splits.DOMAINS):
        write_text(PAGE, page(tables))


def page(tables: Mapping[str, str]) -> str:
    """Returns the text of the page that contains the figures of all data sets.

    Args:
        tables: Dictionary from data sets to tables in Markdown.
    """
    rows = [
        [TITLES[name], *DATA[name], len(class_splits.splits(name, class_splits.MEASURED))]
        for name in tables
    ]
    lines = markdown_table(["data", "encoder", "old classes", "new classes", "splits"], rows)
    sections = [f"## {TITLES[name]}\n\n{table}" for name, table in tables.items()]
    return TEXT.format(
        data=lines,
        draws=DRAWS["digits"],
        regression=REGRESSION_EXAMPLES,
        tables="\n\n".join(sections),
        choice=CHOICE,
    )


if __name__ == "__main__":
    typer.run(main)
