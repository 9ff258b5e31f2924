"""Runs losses of another library, for `losses.py`, with the interpreter of another environment.

Usage: `python losses_peer.py LIBRARY JSON wall|cpu`. The script prints one line with facts about
the library and the names of its tasks. After this line, the script repeatedly reads the name of a
task and a number of steps, runs the task, and prints the mean seconds per step. The script imports
only the measured library and the standard library.
"""

import importlib.util
import json
import sys
import time
from unittest import mock


def metric_learning(batch, features, classes):
    """Tasks of pytorch-metric-learning, whose distances normalize embeddings."""
    import pytorch_metric_learning
    import torch
    from pytorch_metric_learning import distances, losses, miners

    labels = torch.arange(classes).repeat_interleave(batch // classes)
    twos = torch.arange(batch // 2).repeat_interleave(2)
    positives = batch // classes - 1
    triplets = losses.TripletMarginLoss
    # Name of the task: the loss, a miner, labels.
    made = {
        "contrastive": (losses.ContrastiveLoss(), None, labels),
        "triplet all": (triplets(margin=0.2), None, labels),
        "triplet random": (triplets(0.2, triplets_per_anchor=positives), None, labels),
        "triplet semi-hard": (
            triplets(0.2),
            miners.TripletMarginMiner(0.2, type_of_triplets="semihard"),
            labels,
        ),
        "triplet hard": (triplets(0.2), miners.BatchHardMiner(), labels),
        "lifted structure": (losses.LiftedStructureLoss(), None, labels),
        "generalized lifted": (losses.GeneralizedLiftedStructureLoss(), None, labels),
        "n-pair": (losses.NPairsLoss(), None, twos),
        "proxy-nca": (losses.ProxyNCALoss(classes, features), None, labels),
        "snr triplet": (triplets(0.2, distance=distances.SNRDistance()), None, labels),
    }

    def task(loss, miner, labels):
        x = torch.randn(batch, features, requires_grad=True)

        def run():
            x.grad = None
            mined = miner(x, labels) if miner else None
            loss(x, labels, mined).backward()

        return run

    facts = {"threads": torch.get_num_threads(), "torch": torch.__version__}
    versions = {"pytorch-metric-learning": pytorch_metric_learning.__version__, **facts}
    return {name: task(*parts) for name, parts in made.items()}, versions


def similarity(batch, features, classes):
    """Tasks of TensorFlow Similarity, in which each step is a compiled function."""
    # Stubs for the search engine and the data sets, which no loss uses. The search engine has no
    # wheel.
    for name in ("nmslib", "tensorflow_datasets", "distinctipy"):
        sys.modules[name] = mock.MagicMock(__name__=name)
    import tensorflow as tf
    import tensorflow_similarity
    from tensorflow_similarity import losses

    labels = tf.repeat(tf.range(classes), batch // classes)
    x = tf.math.l2_normalize(tf.random.normal((batch, features)), axis=1)

    def compiled(loss):
        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                value = tf.reduce_mean(loss(x))
            return tape.gradient(value, x)

        return lambda: tf.convert_to_tensor(step(x)).numpy()

    def triplet(mining):
        return losses.TripletLoss("euclidean", "hard", mining, margin=0.2)

    def by_labels(loss):
        return compiled(lambda x: loss(labels, x))

    ranks = losses.MultiNegativesRankLoss(scale=1)
    tasks = {
        "triplet semi-hard": by_labels(triplet("semi-hard")),
        "triplet hard": by_labels(triplet("hard")),
        "n-pair": compiled(lambda x: ranks(x[0::2], x[1::2])),
    }
    facts = {"tensorflow": tf.__version__}
    return tasks, {"tensorflow-similarity": tensorflow_similarity.__version__, **facts}


LIBRARIES = {function.__name__: function for function in (metric_learning, similarity)}
PACKAGES = {"metric_learning": "pytorch_metric_learning", "similarity": "tensorflow_similarity"}


def one_thread(library):
    if library == "metric_learning":
        import torch

        torch.set_num_threads(1)
    else:
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)


def smoke():
    """Runs each task of the installed libraries once, on a small batch."""
    available = [name for name in LIBRARIES if importlib.util.find_spec(PACKAGES[name])]
    if not available:
        print(f"losses_peer needs one of {', '.join(PACKAGES.values())}.", file=sys.stderr)
        raise SystemExit(77)  # `SKIPPED` of `smoke.py`, which is not importable there
    for library in available:
        tasks, facts = LIBRARIES[library](batch=8, features=3, classes=2)
        for run in tasks.values():
            run()
        print(library, facts, list(tasks))


def main(library, sizes, kind):
    clock = {"wall": time.perf_counter, "cpu": time.process_time}[kind]
    if kind == "cpu":
        one_thread(library)
    tasks, facts = LIBRARIES[library](**json.loads(sizes))
    print(json.dumps({**facts, "clock": kind, "tasks": list(tasks)}), flush=True)
    for line in sys.stdin:
        name, steps = json.loads(line)
        run = tasks[name]
        start = clock()
        for _ in range(steps):
            run()
        print((clock() - start) / steps, flush=True)


if __name__ == "__main__":
    smoke() if sys.argv[1:] == ["--smoke"] else main(*sys.argv[1:])
