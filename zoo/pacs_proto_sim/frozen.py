"""What ImageNet's features alone are worth on PACS: linear discriminants, in closed form, of the
embeddings of the pretrained encoder. The page of `pacs_proto_sim` says how far it is ahead.

From the checkout: `python -m zoo.pacs_proto_sim.frozen --help`.
"""

import numpy as np
import typer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import normalize

from keras_dml import inference
from keras_dml.training import pooled
from keras_dml.training.answers import Answers
from zoo import domains, evidence
from zoo.pacs_proto_sim import networks, train

SHRINKAGE = 0.3  # that of `voice_logcov_lda`, not searched


def right(features, labels, known, asked):
    """Of each picture asked whether the discriminants of those known name it.

    Args:
        features: Embeddings of all pictures, shape `(pictures, features)`.
        labels: Class of each.
        known: Rows to fit.
        asked: Rows to name.
    """
    analysis = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE)
    named = analysis.fit(features[known], labels[known]).predict(features[asked])
    return named == labels[asked]


def main(weights: train.Weights = train.WEIGHTS):
    """Prints how many pictures of domains left out are named, and how many of the card's headline
    beside the published file."""
    encoder, _, _ = networks.pretrained(weights)
    pictures = domains.read()
    x = domains.central(pictures.images)
    z = normalize(inference.embed(encoder, x, batch_size=domains.BATCH))
    found = []
    for domain in domains.DOMAINS:
        known, _, asked = pictures.without(domain)
        found.append(right(z, pictures.labels, known, asked))
        print(f"{domain} left out: {100 * found[-1].mean():.1f} %")
    print(f"each domain left out: {_in_words(Answers(np.concatenate(found)).rows()[0])}")
    known, asked, _ = pictures.without()
    published = evidence.of_published("pacs_proto_sim").measured
    frozen = right(z, pictures.labels, known, asked)
    (beside,) = published.baselines({"frozen": ("its features", pooled.INSTEAD, frozen)})
    print(f"the headline's pictures: {_in_words(beside['rows'][0])}")
    print(f"the published file less that: {_in_words(beside['difference'])}")


def _in_words(row):
    low, high = row["ci95"]
    return f"{100 * row['value']:.1f} % [{100 * low:.1f} to {100 * high:.1f}]"


if __name__ == "__main__":
    typer.run(main)
