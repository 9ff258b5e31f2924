"""Compares the time of losses with pytorch-metric-learning and TensorFlow Similarity.

python -m tests.bench.losses --torch /path/to/python --similarity /path/to/python

The interpreter of `--torch` has PyTorch and pytorch-metric-learning 2.9. The interpreter of
`--similarity` has TensorFlow 2.15 and tensorflow-similarity 0.17 (`pip install
"tensorflow-cpu==2.15.*" tensorflow-similarity "numpy<2"`). The script measures the forward and
backward pass of losses with equal names on equal batches. The libraries reduce losses in different
ways. TensorFlow Similarity uses one triplet per anchor, with the hardest positive. keras-dml uses
all positive pairs, except with "hard" mining, and therefore fifteen times as many triplets.
"""

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.bench import smoke, timing
from tests.bench.memory import growth_megabytes

SIZES = {"batch": 256, "features": 128, "classes": 16}
SMOKE = {"SIZES": {"batch": 8, "features": 3, "classes": 2}, "steps": 1, "repeats": 5}
BOUND, MEMORY_BOUND_MB = 1.0, 60
LIBRARIES = {"torch": "metric_learning", "similarity": "similarity"}
SLOW = {"metric_learning": {"lifted structure"}}  # timed once, because a call takes half a minute
STANDS_FOR = {"lifted structure": "generalized lifted"}  # the most similar fast loss
SERVER = Path(__file__).with_name("losses_peer.py")


def losses():
    """Returns a dict that maps names of losses in other libraries to losses of keras-dml.

    Each loss comes with the kind of labels of its batch, `"classes"` or `"pairs"`.
    """
    from keras_dml import losses

    return {
        "contrastive": (losses.ContrastiveLoss(), "classes"),
        "triplet all": (losses.TripletLoss(0.2, "all"), "classes"),
        "triplet random": (losses.TripletLoss(0.2, "random"), "classes"),
        "triplet semi-hard": (losses.TripletLoss(0.2, "semi_hard"), "classes"),
        "triplet hard": (losses.TripletLoss(0.2, "hard"), "classes"),
        "lifted structure": (losses.LiftedStructureLoss(), "classes"),
        "n-pair": (losses.NPairLoss("inner"), "pairs"),
        "proxy-nca": (losses.ProxyNCALoss(softmax=True), "classes"),
        "snr triplet": (losses.DSMLTripletLoss(), "classes"),
    }


def step(name, batch, features, classes):
    """Returns a compiled function that computes a loss and its gradients.

    The gradients are with respect to the embeddings. If the loss has proxies, there are also
    gradients with respect to the proxies.
    """
    import tensorflow as tf

    from keras_dml.layers import Proxies

    loss, kind = losses()[name]
    per_label = batch // classes if kind == "classes" else 2
    labels = tf.constant(np.repeat(np.arange(batch // per_label), per_label).astype("float32"))
    x = np.random.default_rng(0).normal(size=(batch, features)).astype("float32")
    x = tf.constant(x / np.linalg.norm(x, axis=1, keepdims=True))
    head = Proxies(classes) if name == "proxy-nca" else lambda x: x
    head(x)
    weights = [weight.value for weight in getattr(head, "trainable_weights", [])]

    @tf.function(autograph=False)
    def gradients(labels, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(labels, head(x))
        return [tf.convert_to_tensor(part) for part in tape.gradient(value, [x, *weights])]

    return lambda: [part.numpy() for part in gradients(labels, x)]


def peak_megabytes(name):
    """Measures the growth of memory in the first step, including tracing, in a fresh process."""
    step(name, **{**SIZES, "batch": 2 * SIZES["classes"]})()  # loads code and starts threads
    return growth_megabytes(step(name, **SIZES))[0]


@contextlib.contextmanager
def library(name, python, cpu_time):
    """Starts a process of another library.

    Yields:
        A function from the name of a loss and a number of steps to the mean seconds per step, and a
        dict of facts about the library. If `python` is None, the context yields `(None, {"tasks":
        []})`.
    """
    if python is None:
        yield None, {"tasks": []}
        return
    command = [python, str(SERVER), name, json.dumps(SIZES), "cpu" if cpu_time else "wall"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:

        def answer():
            line = server.stdout.readline()
            if not line:
                raise RuntimeError(f"The process of {python!r} ended; its message is above.")
            return json.loads(line)

        def ask(task, steps):
            server.stdin.write(json.dumps([task, steps]) + "\n")
            server.stdin.flush()
            return answer()

        try:
            yield ask, answer()
        finally:
            server.stdin.close()


def compare(name, peers, given):
    """Times a loss in turn with losses of other libraries, and prints the table.

    The table compares keras-dml with the fastest library.

    Args:
        name: Name of the loss.
        peers: Dict from the name of a library to its function and facts.
        given: Options of the command line.
    """
    runs, steps = {}, given.steps
    for peer, (ask, facts) in peers.items():
        task = name
        if ask is not None and name in SLOW.get(peer, ()):
            print(f"{peer}: {name}, once: {1e3 * ask(name, 1):.0f} ms")
            task = STANDS_FOR[name]
        if task in facts["tasks"]:
            runs[f"{task}, {peer}"] = lambda ask=ask, task=task: ask(task, steps)
    ours = f"{name}, ours"
    reference = list(runs)
    runs[ours] = timing.timed(step(name, **SIZES), given.cpu_time, steps)
    seconds = timing.alternate(runs, given.repeats)
    fastest = min(reference, key=lambda run: np.median(seconds[run]), default=None)
    rows = [*map(timing.Row, reference), timing.Row(ours, fastest, BOUND)]
    timing.show(f"{name} {SIZES}, forward and backward, {steps} steps a round", rows, seconds)
    if given.smoke:
        peak = peak_megabytes(name)
    else:
        command = [sys.executable, "-m", "tests.bench.losses", "--memory-only", name]
        peak = float(subprocess.check_output(command, text=True))
    print(f"peak extra memory {peak:.0f} MB; bound {MEMORY_BOUND_MB} MB: ", end="")
    print(timing.verdict(peak, MEMORY_BOUND_MB))


def main():
    options = timing.parser(__doc__.splitlines()[0], 15)
    timing.add_torch(options)
    options.add_argument("--similarity", metavar="PYTHON", help="interpreter of the other peer")
    options.add_argument("--only", metavar="NAME", help="one loss, by its name in the tables")
    timing.add_steps(options)
    options.add_argument("--memory-only", metavar="NAME", help="print its peak in MB and end")
    arguments = smoke.parse(options, globals(), SMOKE)
    if arguments.memory_only:
        print(peak_megabytes(arguments.memory_only))
        return
    if arguments.cpu_time:
        timing.one_thread()
    with contextlib.ExitStack() as stack:
        peers = {
            name: stack.enter_context(library(name, getattr(arguments, option), arguments.cpu_time))
            for option, name in LIBRARIES.items()
        }
        print(*({key: facts} for key, (_, facts) in peers.items()), sep="\n")
        for name in [arguments.only] if arguments.only else losses():
            compare(name, peers, arguments)


if __name__ == "__main__":
    main()
