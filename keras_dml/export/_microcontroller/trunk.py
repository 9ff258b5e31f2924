"""Writes the convolutions of a network as an int8 file for TensorFlow Lite Micro (TFLM).

The file maps normalized features to the activations of the last layer. TFLM has no operator that
sorts, so the quantile functions are not part of the file.
"""

import dataclasses
import pathlib
from typing import Any

import numpy as np

from keras_dml._backend import ops
from keras_dml._backend.tensorflow import tensorflow
from keras_dml.export._microcontroller.network import QuantileNetwork
from keras_dml.export._quiet import quiet

# Number of standard deviations that the int8 numbers cover, of a normalized feature and of a
# batch-normalized activation (Nagel2019, section 5). Wider ranges have coarser steps. On 330 walks
# of test people, int8 activations with these ranges changed the embeddings of `gait_qp_wl` by 3.6 %
# of their RMS, and by 3.9 % with ranges that were measured on recordings for training.
FEATURE_DEVIATIONS = 8.0
ACTIVATION_DEVIATIONS = 6.0


def convert(network: QuantileNetwork, steps: int) -> bytes:
    """Converts the convolutions of a network to an int8 TFLite file.

    The input is int8, shape `(1, steps, 1, features)`, and the output is int8, shape `(1, steps
    after averaging, 1, filters)`. The operators are CONV_2D, PRELU and AVERAGE_POOL_2D. The ranges
    of the int8 numbers follow from the batch normalization.

    Args:
        network: `QuantileNetwork`.
        steps: Number of time steps of a recording.

    Raises:
        RuntimeError: If Keras does not run on TensorFlow.
    """
    tf = tensorflow()

    def ranged(x, low, high):
        """Tells the converter the range of a tensor."""
        low, high = min(float(np.min(low)), 0.0), max(float(np.max(high)), 0.0)
        return tf.quantization.fake_quant_with_min_max_args(x, low, high or 1.0, num_bits=8)

    def compute(x):
        x = ranged(x, -FEATURE_DEVIATIONS, FEATURE_DEVIATIONS)
        for convolution in network.convolutions:
            kernel = convolution.kernel[:, None].astype(np.float32)  # (taps, 1, inputs, filters)
            ends = convolution.ends(ACTIVATION_DEVIATIONS)
            x = tf.nn.conv2d(x, kernel, 1, "SAME") + convolution.bias.astype(np.float32)
            x = ranged(x, *ends)
            slope = -convolution.slope.astype(np.float32)[None, None]  # (1, 1, filters)
            # the converter replaces this form by the operator PRELU
            x = tf.nn.relu(x) + slope * tf.nn.relu(-x)
            values = convolution.after_prelu(ends)
            x = ranged(x, values, values)
            if convolution.pool > 1:
                window = [convolution.pool, 1]
                x = ranged(tf.nn.avg_pool2d(x, window, window, "SAME"), values, values)
        return x

    shape = (1, steps, 1, network.convolutions[0].kernel.shape[1])
    function = tf.function(
        compute, autograph=False, input_signature=[tf.TensorSpec(shape, tf.float32)]
    )
    with quiet():
        concrete = function.get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        return converter.convert()


@dataclasses.dataclass(frozen=True)
class Trunk:
    """int8 input and output of a file for one recording. A number is `(integer - zero) * scale`.

    Attributes:
        source: Input, shape `(time, features)`.
        output: Output, shape `(time after averaging, filters)`.
        scales: Scales of the input and of the output.
        zeros: Integers that stand for zero in the input and in the output.
    """

    source: np.ndarray
    output: np.ndarray
    scales: tuple[float, float]
    zeros: tuple[float, float]

    @property
    def activations(self) -> np.ndarray:
        """Activations of the last layer, shape `(time after averaging, filters)`."""
        return (self.output.astype(np.float32) - np.float32(self.zeros[1])) * np.float32(
            self.scales[1]
        )


def run(file: pathlib.Path, network: QuantileNetwork, recording: np.ndarray) -> Trunk:
    """Runs a file by LiteRT.

    Args:
        file: Path of a file that `convert` wrote.
        network: `QuantileNetwork` of the file.
        recording: Recording that has the number of time steps of the file.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_path=str(file),
        num_threads=1,
        # the reference operators round as TFLM does
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    (source,), (output,) = interpreter.get_input_details(), interpreter.get_output_details()
    features = ops.convert_to_numpy(network.front.features(recording[None], training=False))[0]
    integers = to_int8(features, source)
    interpreter.set_tensor(source["index"], integers[None, :, None])
    interpreter.invoke()
    parameters = [_quantization(details) for details in (source, output)]
    scales, zeros = zip(*((float(scale), float(zero)) for scale, zero in parameters), strict=True)
    return Trunk(integers, interpreter.get_tensor(output["index"])[0, :, 0], scales, zeros)


def to_int8(values: np.ndarray, details: dict[str, Any]) -> np.ndarray:
    """Converts numbers to the int8 numbers of a tensor with these details."""
    scale, zero = _quantization(details)
    return np.clip(np.rint(values / scale) + zero, -128, 127).astype(np.int8)


def from_int8(values: np.ndarray, details: dict[str, Any]) -> np.ndarray:
    """Converts int8 numbers of a tensor with these details to float32 numbers."""
    scale, zero = _quantization(details)
    return (values.astype(np.float32) - zero) * scale


def _quantization(details):
    parameters = details["quantization_parameters"]
    return parameters["scales"][0], parameters["zero_points"][0].astype(np.float32)
