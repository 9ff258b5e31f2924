"""Trains `keystroke_qp_wl` and two other methods, which recognize people by how they type.

The network takes the key presses of a sentence. The model uses the quantile layer and the
Wasserstein loss of Abdelwahab2019. The model is trained on the people of the split `train`, and
measured on the people of the split `test`. To list the options, run
`python -m zoo.keystroke_qp_wl.train --help` from the checkout.
"""

from typing import Annotated

import numpy as np
import typer

from keras_dml import layers
from keras_dml._backend import keras
from keras_dml.losses import NPairLoss, WassersteinLoss
from keras_dml.samplers import NPairSampler
from keras_dml.training import Optimization, fronts
from zoo import keystrokes, recipe

# Pooling and loss of each method. The cosine of the N-pair loss is multiplied by 16, see
# `zoo.sequences`.
METHODS = {
    "qp_wl": lambda: (layers.QuantileLayer(KNOTS, name="embedding"), WassersteinLoss()),
    "qp_npl": lambda: (
        layers.QuantileLayer(KNOTS, flatten=True, name="embedding"),
        NPairLoss("cosine", scale=SCALE),
    ),
    "mp_npl": lambda: (
        layers.SequencePooling("mean", name="embedding"),
        NPairLoss("cosine", scale=SCALE),
    ),
}
SCALE = 16.0
RIVALS = ("qp_npl", "mp_npl")
STEPS, STEPS_PER_EPOCH = 1500, 50
OPTIMIZATION = Optimization(3e-3, warm_up=100, average=0.99, clip_norm=10.0)
CONVOLUTIONS, FILTERS, KNOTS = 3, 32, 8
PAIRS, LENGTH = 32, 48  # of a batch; key presses of a training window
LEAST = 20  # key presses of a random window
SLOPE = 0.25  # initial slope of a PReLU for negative inputs
CAPTION = (
    "The 549 people were not used in training. The sixth sentence of each person is compared with "
    "the first five sentences of all people."
)

examples = keystrokes.examples
Method = Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")]


def build_encoder(head, typed):
    """Builds an untrained encoder of typed sentences.

    Args:
        head: Layer that pools the activations of a sentence.
        typed: `People` whose key presses determine the usual times of keys.
    """
    signal = keras.Input((None, len(keystrokes.CHANNELS)), name="signal")
    residuals = layers.KeystrokeResiduals(name="residuals")
    x = residuals(signal)
    residuals.adapt(typed.signals)
    for i in range(CONVOLUTIONS):
        width = 3 if i else 1
        x = layers.MaskedConv1D(
            FILTERS, width, use_bias=False, kernel_initializer="he_normal", name=f"conv_{i + 1}"
        )(x)
        x = keras.layers.BatchNormalization(momentum=0.9, name=f"norm_{i + 1}")(x)
        slope = keras.initializers.Constant(SLOPE)
        x = keras.layers.PReLU(shared_axes=[1], alpha_initializer=slope, name=f"prelu_{i + 1}")(x)
    return keras.Model(signal, head(x), name="keystrokes")


def padded(signals):
    """Returns sentences as one array, with zeros after the end of each sentence."""
    batch = np.zeros((len(signals), max(map(len, signals)), len(keystrokes.CHANNELS)), np.float32)
    for row, signal in zip(batch, signals, strict=True):
        row[: len(signal)] = signal
    return batch


def windows(batch, rng, length=LENGTH):
    """Cuts a window from each sentence. In half of the cases, the length of the window is random.

    Args:
        batch: Sentences with zeros after their ends.
        rng: NumPy generator.
        length: Largest number of key presses of a window.
    """
    result = np.zeros((len(batch), length, batch.shape[2]), np.float32)
    for row, signal in zip(result, batch, strict=True):
        count = int(np.flatnonzero(signal.any(axis=-1))[-1]) + 1
        steps = min(count, length)
        if rng.random() < 0.5:
            steps = int(rng.integers(min(LEAST, steps), steps + 1))
        start = int(rng.integers(count - steps + 1))
        row[:steps] = signal[start : start + steps]
    return result


def trained(run, method, typed):
    """Trains an encoder.

    Args:
        run: `zoo.recipe.Run`.
        method: One of `METHODS`.
        typed: `People` to train on.
    """
    keras.utils.set_random_seed(run.seed)
    head, loss = METHODS[method]()
    encoder = build_encoder(head, typed)
    sampler = NPairSampler(
        padded(typed.signals),
        typed.subjects,
        pairs=PAIRS,
        steps_per_epoch=STEPS_PER_EPOCH,
        seed=run.seed,
        augment=windows,
    )
    signal = keras.Input((LENGTH, len(keystrokes.CHANNELS)))
    masked = keras.layers.Masking(0.0)(signal)
    model = keras.Model(signal, fronts.apply(encoder.layers[1:], masked))
    run.fit(model, sampler, OPTIMIZATION, loss=loss, jit_compile=False)
    return encoder


@recipe.command(STEPS)
def main(run, method: Method = "qp_wl"):
    """Trains a model on the people of the split `train`, and measures it on the people of the split
    `test`. With --publish, also trains the other methods.
    """
    typed = keystrokes.typists(("train",)).people
    encoder = trained(run, method, typed)
    tested = keystrokes.typists(keystrokes.UNSEEN).people
    measured = keystrokes.measurement(encoder, tested, rule="nearest")
    run.save(measured, CAPTION)
    if run.publishes and method == "qp_wl":
        controls = {name: trained(run.part(name), name, typed) for name in RIVALS}
        run.publish(
            encoder,
            keystrokes.synthetic_sentences(),
            measured,
            data={
                "train_subjects": sorted(set(typed.subjects), key=int),
                "test_subjects": sorted(set(tested.subjects), key=int),
            },
            controls=controls,
        )


if __name__ == "__main__":
    typer.run(main)
