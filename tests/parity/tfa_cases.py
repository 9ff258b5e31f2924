"""Calls TensorFlow Addons and prints values and gradients as JSON, for `tfa.py`.

The script runs in the environment of TensorFlow Addons (Keras 2), and never in the environment of
the tests. Values are float32, because `pairwise_distance` of TensorFlow Addons refuses float64.
Gradients are computed for the sum of the values.
"""

import json
import logging
import platform
import sys
import warnings

warnings.filterwarnings("ignore")  # of the end of life
logging.getLogger("tensorflow").setLevel(logging.ERROR)  # of functions traced for each batch

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
import tensorflow_addons as tfa  # noqa: E402
from tensorflow_addons.losses import metric_learning  # noqa: E402

ABOUT = (
    "Values of TensorFlow Addons in float32, made by tests/parity/tfa.py. `inputs` holds arrays by "
    "name. Each of `cases` has `fn`, the function called; `inputs`, its arrays by the names of its "
    "arguments; `args`, its other arguments; `value`; `grad`, the gradient of the value's sum in "
    "arrays by the names of the arguments; and `note`. Compare with rtol 1e-5, atol 1e-6. A number "
    "that is not finite is the string 'nan', 'inf' or '-inf'."
)
BATCHES = {  # from the names of embeddings and labels to a note about this batch
    ("emb12", "lab12"): None,
    ("emb12_unit", "lab12"): None,
    ("emb12_clustered", "lab12"): None,
    ("emb9", "lab9_uneven"): "label 7 has one member",
    ("emb8_duplicates", "lab8_duplicates"): "has rows at distance exactly 0",
    ("emb5", "lab5_all_different"): "no positive pair",
    ("emb5", "lab5_all_equal"): "no negative pair",
}


def arrays():
    """Draws the inputs, and returns a dict from their names to the inputs. If the order of the
    draws changes, the values in the golden file change.
    """
    rng = np.random.default_rng(20240531)

    def normal(*shape):
        return rng.normal(size=shape).astype("float32")

    def ids(*values):
        return np.array(values, "int32")

    result = {"emb12": normal(12, 6)}
    result["lab12"] = rng.permutation(np.repeat(np.arange(4), 3)).astype("int32")
    lengths = np.linalg.norm(result["emb12"], axis=-1, keepdims=True)
    result["emb12_unit"] = result["emb12"] / lengths
    centers = 3.0 * normal(4, 6)  # so far apart that most triplets have loss 0
    result["emb12_clustered"] = (centers[result["lab12"]] + 0.3 * normal(12, 6)).astype("float32")
    result["emb9"] = normal(9, 5)
    result["lab9_uneven"] = ids(0, 0, 0, 0, 1, 1, 2, 2, 7)
    twins = normal(8, 4)
    twins[1], twins[5] = twins[0], twins[2]  # equal rows of one class, and of two classes
    result["emb8_duplicates"] = twins
    result["lab8_duplicates"] = ids(0, 0, 1, 1, 2, 2, 3, 3)
    result["emb5"] = normal(5, 4)
    result["lab5_all_different"], result["lab5_all_equal"] = ids(0, 1, 2, 3, 4), ids(0, 0, 0, 0, 0)
    result["pair_label"] = ids(1, 0, 1, 0, 0, 1, 1, 0, 0, 1)
    distances = [0.1, 0.2, 1.5, 1.7, 0.9, 0.0, 0.6, 0.0, 1.0, 2.5]
    result["pair_distance"] = np.array(distances, "float32")
    result["anchor6"], result["positive6"] = normal(6, 5), normal(6, 5)
    result["sim6"] = result["anchor6"] @ result["positive6"].T
    result["lab6_distinct"], result["lab6_repeated"] = ids(3, 1, 4, 0, 5, 9), ids(0, 1, 2, 0, 1, 0)
    rows = ["1010", "0100", "1100", "0001", "0111", "1000"]
    result["multihot6"] = np.array([list(map(int, row)) for row in rows], "int32")
    result["target10"], result["guess10"] = normal(10), normal(10)
    result["binary10"] = (rng.random(10) > 0.5).astype("float32")
    result["logit10"] = normal(10)
    result["onehot20"] = np.eye(4, dtype="float32")[rng.integers(0, 4, 20)]
    shares = np.exp(normal(20, 4))
    result["prob20"] = shares / shares.sum(axis=1, keepdims=True)
    result["seq"], result["flat"], result["image"] = (
        normal(2, 7, 4),
        normal(5, 6),
        normal(2, 4, 4, 3),
    )
    return result


class Cases:
    """List of the cases that were computed so far."""

    def __init__(self, inputs):
        self.inputs, self.found = inputs, []

    def add(self, name, function, inputs, note=None, wrt=None, **args):
        """Calls `function(**arrays, **args)` and computes its gradient.

        The gradient is with respect to the arrays in `wrt`. Default: the last array.
        """
        wrt = next(reversed(inputs)) if wrt is None else wrt
        given = {key: tf.constant(self.inputs[source]) for key, source in inputs.items()}
        with tf.GradientTape() as tape:
            if wrt:
                tape.watch(given[wrt])
            value = function(**given, **args)
            total = tf.reduce_sum(value)
        case = {"fn": name, "inputs": inputs, "args": args, "value": plain(value.numpy())}
        if wrt:
            case["grad"] = {wrt: plain(tape.gradient(total, given[wrt]).numpy())}
        self.found.append({**case, "note": note} if note else case)


def metric_losses(cases):
    """Computes cases of triplet losses and lifted structure losses for all kinds of batches."""
    for (embeddings, labels), note in BATCHES.items():
        io = {"y_true": labels, "y_pred": embeddings}
        for metric in ("L2", "squared-L2", "angular"):
            hard = "tfa.losses.triplet_hard_loss", tfa.losses.triplet_hard_loss, io, note
            for margin in (1.0, 0.2):
                semi_hard = tfa.losses.triplet_semihard_loss
                name = "tfa.losses.triplet_semihard_loss"
                cases.add(name, semi_hard, io, note, margin=margin, distance_metric=metric)
                cases.add(*hard, margin=margin, soft=False, distance_metric=metric)
            cases.add(*hard, margin=1.0, soft=True, distance_metric=metric)
        io = {"labels": labels, "embeddings": embeddings}
        for margin in (1.0, 0.3):
            function = tfa.losses.lifted_struct_loss
            cases.add("tfa.losses.lifted_struct_loss", function, io, note, margin=margin)


def contrastive(y_true, y_pred, margin, reduction):
    return tfa.losses.ContrastiveLoss(margin, reduction=reduction)(y_true, y_pred)


def pair_losses(cases):
    """Computes cases of contrastive losses and N-pair losses."""
    io = {"y_true": "pair_label", "y_pred": "pair_distance"}
    for margin in (1.0, 0.5, 2.0):
        cases.add("tfa.losses.contrastive_loss", tfa.losses.contrastive_loss, io, margin=margin)
    note = "the TFA default reduction is sum_over_batch_size"
    for reduction in ("sum", "none", "sum_over_batch_size"):
        name = "tfa.losses.ContrastiveLoss"
        cases.add(name, contrastive, io, note, margin=1.0, reduction=reduction)
    note = "no L2 term on the embeddings; y_pred is the similarity matrix"
    for labels in ("lab6_distinct", "lab6_repeated"):
        io = {"y_true": labels, "y_pred": "sim6"}
        cases.add("tfa.losses.npairs_loss", tfa.losses.npairs_loss, io, note)
    note = "targets: number of shared labels, each row divided by its sum"
    io = {"y_true": "multihot6", "y_pred": "sim6"}
    cases.add("tfa.losses.npairs_multilabel_loss", tfa.losses.npairs_multilabel_loss, io, note)


def distances(cases):
    """Computes cases of the two pairwise distances that losses of TensorFlow Addons use."""
    note = "1 - cosine similarity, not an angle; the diagonal is left as rounding gives it"
    prefix = "tfa.losses.metric_learning."
    for feature in ("emb9", "emb8_duplicates"):
        io = {"feature": feature}
        special = "has rows at distance exactly 0" if "duplicates" in feature else None
        for squared in (False, True):
            function = metric_learning.pairwise_distance
            cases.add(prefix + "pairwise_distance", function, io, special, squared=squared)
        cases.add(prefix + "angular_distance", metric_learning.angular_distance, io, note)


def other_losses_and_metrics(cases):
    """Computes cases of losses on quantiles and probabilities, F-scores and kappa."""
    io = {"y_true": "target10", "y_pred": "guess10"}
    for tau in (0.1, 0.5, 0.9):
        cases.add("tfa.losses.pinball_loss", tfa.losses.pinball_loss, io, tau=tau)
    io = {"y_true": "binary10", "y_pred": "logit10"}
    options = {"alpha": 0.25, "gamma": 2.0, "from_logits": True}
    focal = tfa.losses.sigmoid_focal_crossentropy
    cases.add("tfa.losses.sigmoid_focal_crossentropy", focal, io, **options)

    def metric(name, **args):
        make = getattr(tfa.metrics, name)
        io = {"y_true": "onehot20", "y_pred": "prob20"}
        cases.add(f"tfa.metrics.{name}", lambda y_true, y_pred, **a: make(**a)(y_true, y_pred), io,
                  wrt="", **args)  # fmt: skip

    for average in (None, "macro", "micro", "weighted"):
        for threshold in (None, 0.5):
            metric("F1Score", average=average, threshold=threshold, num_classes=4)
    metric("FBetaScore", average="macro", beta=2.0, num_classes=4)
    metric("CohenKappa", num_classes=4)


def layers(cases):
    """Computes cases of layers with their initial weights."""

    def layer(name, source, note=None, **args):
        make = getattr(tfa.layers, name)
        io = {"inputs": source}
        cases.add(f"tfa.layers.{name}", lambda inputs, **a: make(**a)(inputs), io, note, **args)

    note = "Keras 3: GroupNormalization(groups=-1), epsilon 0.001 in both"
    layer("InstanceNormalization", "seq", note)
    layer("GroupNormalization", "seq", groups=2)
    layer("Maxout", "flat", num_units=3)
    layer("Sparsemax", "flat", "Keras 3: keras.activations.sparsemax")
    layer("PoincareNormalize", "flat", axis=1, epsilon=1e-5)
    layer("Snake", "flat", frequency_initializer="ones")
    layer("AdaptiveAveragePooling1D", "seq", output_size=1)
    layer("FilterResponseNormalization", "image", "beta 0, gamma 1; epsilon 1e-6 by default")


def plain(values):
    """Converts an array to nested lists of the shortest decimals that give the same float32."""
    values = np.asarray(values)
    if values.ndim:
        return [plain(value) for value in values]
    if np.issubdtype(values.dtype, np.integer):
        return int(values)
    if not np.isfinite(values):
        return str(float(values))
    return float(np.format_float_scientific(np.float32(values), unique=True))


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    inputs = arrays()
    cases = Cases(inputs)
    for part in (metric_losses, pair_losses, distances, other_losses_and_metrics, layers):
        part(cases)
    versions = {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "tensorflow-addons": tfa.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
    }
    named = {name: plain(array) for name, array in inputs.items()}
    document = {"about": ABOUT, "versions": versions, "inputs": named, "cases": cases.found}
    json.dump(document, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
