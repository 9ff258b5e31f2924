"""Measures on PACS how well ImageNet features classify images without further training. Linear
discriminants (LDA) are fitted in closed form to the embeddings of the pretrained encoder. The page
of `pacs_proto_sim` compares the accuracy of the linear discriminants with the accuracy of the
model.

To list the options, run `python -m zoo.pacs_proto_sim.frozen --help` from the checkout.
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

SHRINKAGE = 0.3  # as in `voice_logcov_lda`, not searched


def right(
    features: np.ndarray, labels: np.ndarray, training_rows: np.ndarray, test_rows: np.ndarray
) -> np.ndarray:
    """Returns for each test image whether linear discriminants classify it correctly.

    Args:
        features: Embeddings of all images, shape `(images, features)`.
        labels: Class of each image.
        training_rows: Rows of the images to which the discriminants are fitted.
        test_rows: Rows of the images that are classified.
    """
    analysis = LinearDiscriminantAnalysis("eigen", shrinkage=SHRINKAGE)
    analysis.fit(features[training_rows], labels[training_rows])
    return analysis.predict(features[test_rows]) == labels[test_rows]


def main(weights: train.Weights = train.WEIGHTS):
    """Prints the accuracy on each domain that was left out, and the accuracy on the images of the
    main result, compared with the accuracy of the published file.
    """
    encoder, _, _ = networks.pretrained(weights)
    images = domains.read()
    z = inference.embed(encoder, domains.central(images.images), batch_size=domains.BATCH)
    z = normalize(z)
    answers = []
    for domain in domains.DOMAINS:
        training_rows, _, test_rows = images.without(domain)
        answers.append(right(z, images.labels, training_rows, test_rows))
        print(f"{domain} left out: {100 * answers[-1].mean():.1f} %")
    print(f"each domain left out in turn: {_in_words(Answers(np.concatenate(answers)).rows()[0])}")
    training_rows, validation_rows, _ = images.without()
    published = evidence.of_published("pacs_proto_sim").measured
    frozen = right(z, images.labels, training_rows, validation_rows)
    (baseline,) = published.baselines({"frozen": ("its features", pooled.INSTEAD, frozen)})
    print(f"images of the main result: {_in_words(baseline['rows'][0])}")
    print(f"published file minus these features: {_in_words(baseline['difference'])}")


def _in_words(row):
    low, high = row["ci95"]
    return f"{100 * row['value']:.1f} % [{100 * low:.1f} to {100 * high:.1f}]"


if __name__ == "__main__":
    typer.run(main)
