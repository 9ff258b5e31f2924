"""Attacks a small network with the Adversarial Robustness Toolbox and prints the results as JSON,
for `toolbox.py`.

The network is written in NumPy, because the wrappers of the toolbox need Keras 2 or PyTorch. The
toolbox's Auto-PGD differs from the code of its authors in four points. In the toolbox, the first
checkpoint comes one step later, and new maxima are counted instead of increases. The attack also
resumes with another momentum, and returns the last iterate. Up to the first checkpoint, the
iterates of the two implementations are the same. The toolbox's Square attack draws one square for
the whole batch, and keeps a square that changes no entry of an image.
"""

import contextlib
import json
import sys

import numpy as np

with contextlib.redirect_stdout(sys.stderr):
    import art
    from art.attacks.evasion import AutoProjectedGradientDescent, SquareAttack
    from art.estimators import BaseEstimator, LossGradientsMixin, NeuralNetworkMixin
    from art.estimators.classification import ClassifierMixin

ABOUT = (
    "What the attacks of the Adversarial Robustness Toolbox find on a small network in float32, "
    "made by tests/parity/toolbox.py. `values` are the losses of start and iterates up to the "
    "first checkpoint, shape (steps + 1, images); `broken` says which images are misclassified at "
    "the end; `fractions` of the entries a square covers after `squares` squares."
)
IMAGES, SIDE, HIDDEN, CLASSES = 30, 6, 16, 6
EPSILON, STEPS, BEFORE_CHECKPOINT = 0.03, 100, 22
QUERIES = 500
SQUARES = (0, 1, 2, 3, 10, 11, 25, 26, 50, 51, 100, 101, 200, 300, 301, 400, 401, 499)


def inputs():
    """Draws weights and images, and labels each image with the class that the network predicts."""
    rng = np.random.default_rng(20240602)
    made = {
        "first": rng.normal(size=(SIDE * SIDE, HIDDEN)) / 4,
        "bias": rng.normal(size=HIDDEN) / 4,
        "last": rng.normal(size=(HIDDEN, CLASSES)),
        "x": rng.random((IMAGES, SIDE, SIDE, 1)),
    }
    made = {name: array.astype("float32") for name, array in made.items()}
    return made | {"y": Network(made).predict(made["x"]).argmax(axis=1)}


class Network(ClassifierMixin, LossGradientsMixin, NeuralNetworkMixin, BaseEstimator):
    """Network of two layers with a ReLU. The class also computes the loss that gradient-based
    attacks maximize.
    """

    estimator_params = BaseEstimator.estimator_params
    input_shape = (SIDE, SIDE, 1)

    def __init__(self, weights, loss="cross_entropy"):
        super().__init__(model=None, clip_values=(0.0, 1.0), channels_first=False)
        self.weights, self.loss, self.points, self.values = weights, loss, [], []
        self.nb_classes = CLASSES

    def predict(self, x, **options):
        return self._forward(x)[1]

    def compute_loss(self, x, y, **options):
        values = self._loss(self.predict(x), y)[0].astype("float32")
        self.points.append(x.copy())
        self.values.append(values)
        return values

    def loss_gradient(self, x, y, **options):
        hidden, logits = self._forward(x)
        back = self._loss(logits, y)[1] @ self.weights["last"].T
        return ((back * (hidden > 0)) @ self.weights["first"].T).reshape(x.shape)

    def fit(self, *arguments, **options):
        raise NotImplementedError

    get_activations = fit

    def _forward(self, x):
        flat = x.reshape(len(x), -1)
        hidden = np.maximum(flat @ self.weights["first"] + self.weights["bias"], 0)
        return hidden, hidden @ self.weights["last"]

    def _loss(self, logits, y):
        """Computes the loss and its gradient with respect to the logits, for one-hot labels `y`."""
        if self.loss == "cross_entropy":
            shifted = logits - logits.max(axis=1, keepdims=True)
            normalizer = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
            return normalizer[:, 0] - (shifted * y).sum(axis=1), np.exp(shifted - normalizer) - y
        order = np.argsort(-logits, axis=1)
        first = np.eye(CLASSES)
        second = np.argmax(np.where(y > 0, -np.inf, logits), axis=1)
        over = first[second] - y
        under = first[order[:, 0]] - first[order[:, 2]]
        top, bottom = ((part * logits).sum(axis=1) for part in (over, under))
        gradient = over / bottom[:, None] - under * (top / bottom**2)[:, None]
        return top / bottom, gradient


def apgd(given, loss):
    """Runs Auto-PGD from one random start."""
    network = Network(given, loss)
    np.random.seed(7)
    attack = AutoProjectedGradientDescent(
        network,
        norm=np.inf,
        eps=EPSILON,
        eps_step=2 * EPSILON,
        max_iter=STEPS,
        nb_random_init=1,
        batch_size=IMAGES,
        loss_type=None,
        verbose=False,
    )
    result = attack.generate(given["x"], given["y"])
    return {
        "attack": "apgd",
        "loss": loss,
        "start": network.points[0],
        "values": np.stack(network.values[: BEFORE_CHECKPOINT + 1]),
        "broken": network.predict(result).argmax(axis=1) != given["y"],
    }


def square(given):
    """Runs the Square attack on each image separately, so that each image gets its own squares."""
    network, broken = Network(given), []
    np.random.seed(7)
    attack = SquareAttack(
        network, eps=EPSILON, max_iter=QUERIES, nb_restarts=1, p_init=0.8, verbose=False
    )
    for x, y in zip(given["x"], given["y"], strict=True):
        result = attack.generate(x[None], np.eye(CLASSES)[[y]])
        broken.append(network.predict(result).argmax() != y)
    fractions = [attack._get_percentage_of_elements(i) for i in SQUARES]
    return {"attack": "square", "squares": SQUARES, "fractions": fractions, "broken": broken}


def plain(value):
    """Converts an array to lists of Python numbers with the digits of float32."""
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return array.tolist()
    return np.reshape([float(f"{item:.9g}") for item in array.ravel()], array.shape).tolist()


def main():
    with contextlib.redirect_stdout(sys.stderr):
        given = inputs()
        cases = [apgd(given, loss) for loss in ("cross_entropy", "dlr")] + [square(given)]
    settings = {"epsilon": EPSILON, "steps": STEPS, "queries": QUERIES}
    document = {
        "about": ABOUT,
        "versions": {"adversarial-robustness-toolbox": art.__version__},
        "inputs": {name: plain(value) for name, value in {**given, **settings}.items()},
        "cases": [{name: plain(value) for name, value in case.items()} for case in cases],
    }
    print(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    main()
