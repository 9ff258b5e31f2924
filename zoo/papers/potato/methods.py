"""Defines the losses in Kim2020, Table I, with their networks, batches and candidate constants."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from keras_dml import layers, losses, models
from keras_dml._backend import keras

RPL = "RPL"  # the potato ranking loss
EPSILON = 1e-4  # smallest eigenvalue of the first ReEig; those of later layers are not smaller


@dataclasses.dataclass(frozen=True)
class Method:
    """A loss with its candidate constants, its network and its batches.

    Attributes:
        loss: Function that builds the loss from its constants.
        constants: Candidates for the keyword arguments of `loss`. The candidates contain two values
            of each constant.
        head: Output layers that follow the matrices of the network: `"tangent"`, `"proxies"` or
            `"potato"`.
        pairs: Whether batches contain two matrices of every class, for the N-pair loss.
    """

    loss: Callable[..., Any]
    constants: tuple[dict[str, Any], ...]
    head: str = "tangent"
    pairs: bool = False


def _triplet_loss(mining):
    return lambda **constants: losses.TripletLoss(mining=mining, **constants)


def _n_pair_loss(scale):
    return losses.NPairLoss("inner", scale=scale, l2=0.002)


# Between untrained embeddings, the distances are about 9 within a class and 13 between classes. The
# candidate margins are smaller than these distances or about as large. Losses that compare squared
# distances have squared margins.
METHODS = {
    "Contrastive": Method(losses.ContrastiveLoss, ({"margin": 5.0}, {"margin": 15.0})),
    "DSML-Triplet": Method(losses.DSMLTripletLoss, ({"margin": 0.2}, {"margin": 1.0})),
    "Triplet-Random": Method(_triplet_loss("random"), ({"margin": 10.0}, {"margin": 100.0})),
    "Triplet-Semihard": Method(_triplet_loss("semi_hard"), ({"margin": 10.0}, {"margin": 100.0})),
    "Triplet-Hard": Method(_triplet_loss("hard"), ({"margin": 1.0}, {"margin": 10.0})),
    "Lifted Struct": Method(losses.LiftedStructureLoss, ({"margin": 1.0}, {"margin": 10.0})),
    "N-pair-mc": Method(_n_pair_loss, ({"scale": 0.01}, {"scale": 0.1}), pairs=True),
    "Proxy NCA": Method(
        losses.ProxyNCALoss, ({"softmax": False}, {"softmax": True}), head="proxies"
    ),
    RPL: Method(
        losses.PotatoRankingLoss,
        tuple(
            {"z_threshold": z_threshold, "margin": margin, "weight": 1.0}
            for z_threshold in (1.0, 2.5)
            for margin in (1.0, 3.0)
        ),
        head="potato",
    ),
}


def network(method: Method, sizes: Sequence[int], classes: int):
    """Builds the network of Kim2020 with the head of a method.

    Args:
        method: A `Method`.
        sizes: Same as in `keras_dml.models.spdnet`.
        classes: Number of classes.

    Returns:
        The model that is trained, and the model that computes positive definite matrices. The two
        models share their weights.
    """
    encoder = models.spdnet(sizes, output="spd", epsilon=EPSILON)
    if method.head == "potato":
        return models.PotatoNetwork(encoder, classes), encoder
    vectors = layers.TangentVector()(layers.LogEig(EPSILON)(encoder.output))
    if method.head == "proxies":
        vectors = layers.Proxies(classes)(vectors)
    return keras.Model(encoder.inputs[0], vectors), encoder
