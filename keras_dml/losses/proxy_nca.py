"""Proxy-NCA loss."""

from typing import Any

from keras_dml._backend import keras, ops
from keras_dml._typing import Tensor
from keras_dml.losses._base import LabeledLoss
from keras_dml.losses.pairs import ids_below


@keras.saving.register_keras_serializable(package="keras_dml")
class ProxyNCALoss(LabeledLoss):
    """Proxy-NCA loss (MovshovitzAttias2017). The loss moves each embedding closer to the proxy of
    its class than to all other proxies.

    `d_z` is the squared distance between a row and the proxy of class z. `keras_dml.layers.Proxies`
    computes this distance. The value of a row of class y is
    `d_y + log(sum over z != y of exp(-d_z))`. The value of a row may be negative.

    Labels are class ids, shape `(batch,)`. Each class id must be below the number of proxies.
    Predictions are the squared distances, shape `(batch, classes)`. A label without a proxy raises
    an error. In a compiled step, the backend raises the error. If XLA compiles the step on
    TensorFlow, no error is raised, and the value of a row without a proxy is NaN.

    Args:
        softmax: Whether the sum includes the proxy of the row's own class (z = y). With
            `softmax=True`, the loss is a cross-entropy, which is never negative.
        name: Name of the loss.
        dtype: Dtype of the computation, as in `keras.losses.Loss`. Half-precision dtypes are
            replaced by float32.
        **kwargs: Further arguments of `keras.losses.Loss`, such as `reduction`.

    Raises:
        ValueError: If the predictions are not a matrix of distances to proxies, or if an eager call
            receives a label without a proxy.

    Example:
        >>> round(float(ProxyNCALoss()(np.array([0]), np.array([[0.5, 2.0, 2.0]]))), 4)
        -0.8069
    """

    def __init__(
        self, softmax: bool = False, *, name: str = "proxy_nca", dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.softmax = bool(softmax)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        if len(y_pred.shape) != 2 or y_pred.shape[1] is None or y_pred.shape[1] < 2:
            raise ValueError(
                "ProxyNCALoss takes squared distances to at least two proxies, shape (batch, "
                f"classes). Received shape {tuple(y_pred.shape)}. End the model with "
                "`keras_dml.layers.Proxies(classes)`, which takes vectors."
            )
        classes = y_pred.shape[1]
        labels = ids_below(
            y_true, classes, "proxies", "`Proxies(classes)` needs one proxy per class."
        )
        target = ops.equal(labels[:, None], ops.arange(classes, dtype="int32")[None, :])
        distance = ops.sum(ops.where(target, y_pred, 0), axis=1)
        logits = -y_pred if self.softmax else ops.where(target, -float("inf"), -y_pred)
        values = distance + ops.logsumexp(logits, axis=1)
        return ops.where(ops.any(target, axis=1), values, float("nan"))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "softmax": self.softmax}
