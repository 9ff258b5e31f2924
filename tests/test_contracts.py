"""Every public layer, loss and model keeps the promises of `contracts.py`."""

import pytest

from keras_dml import layers, losses, models
from tests import contracts
from tests.contracts import Loss, Network


def name_of(value):
    return getattr(value, "name", None) or getattr(value, "__name__", "cases")


def encoder(name, loss, **options):
    return Network(
        f"sequence_encoder {name}",
        models.sequence_encoder,
        lambda: models.sequence_encoder(contracts.CHANNELS, knots=5, **options),
        loss,
    )


NETWORKS = [
    Network("ChannelNormalisation", layers.ChannelNormalisation, layers.ChannelNormalisation),
    Network(
        "MaskedAveragePooling1D",
        layers.MaskedAveragePooling1D,
        lambda: layers.MaskedAveragePooling1D(4),
    ),
    Network("MaskedConv1D", layers.MaskedConv1D, lambda: layers.MaskedConv1D(6, 5)),
    Network("QuantileLayer", layers.QuantileLayer, lambda: layers.QuantileLayer(5, p=2)),
    Network(
        "QuantileLayer flat",
        layers.QuantileLayer,
        lambda: layers.QuantileLayer(5, flatten=True, host_sort=False),
    ),
    Network(
        "RecordingStandardisation",
        layers.RecordingStandardisation,
        lambda: layers.RecordingStandardisation(epsilon=1e-3),
    ),
    Network("SequencePooling max", layers.SequencePooling, layers.SequencePooling),
    Network("SequencePooling mean", layers.SequencePooling, lambda: layers.SequencePooling("mean")),
    Network("StepDifference", layers.StepDifference, layers.StepDifference),
    encoder("quantile", losses.WassersteinLoss),
    encoder("flat", losses.NPairLoss, flatten=True, normalisation="recording", halvings=0),
]

LOSSES = [
    Loss("WassersteinLoss", losses.WassersteinLoss, losses.WassersteinLoss, layers.QuantileLayer),
    Loss(
        "WassersteinLoss symmetric",
        losses.WassersteinLoss,
        lambda **kwargs: losses.WassersteinLoss(2, symmetric=True, **kwargs),
        lambda: layers.QuantileLayer(5, p=2),
    ),
    Loss(
        "NPairLoss",
        losses.NPairLoss,
        lambda **kwargs: losses.NPairLoss(scale=4, **kwargs),
        layers.SequencePooling,
    ),
    Loss(
        "NPairLoss inner",
        losses.NPairLoss,
        lambda **kwargs: losses.NPairLoss("inner", l2=0.02, **kwargs),
        lambda: layers.QuantileLayer(5, flatten=True),
    ),
]


@pytest.mark.parametrize(
    ("package", "cases"),
    [(layers, NETWORKS), (models, NETWORKS), (losses, LOSSES)],
    ids=name_of,
)
def test_every_public_name_has_a_case(package, cases):
    public = {getattr(package, name) for name in package.__all__}
    missing = public - {case.subject for case in cases}
    assert not missing, f"add a case to {__name__} for {missing}"


@pytest.mark.parametrize("check", contracts.NETWORK_CHECKS, ids=name_of)
@pytest.mark.parametrize("case", NETWORKS, ids=name_of)
def test_network(case, check, rng, tmp_path):
    contracts.run(check, case, rng, tmp_path)


@pytest.mark.parametrize("check", contracts.LOSS_CHECKS, ids=name_of)
@pytest.mark.parametrize("case", LOSSES, ids=name_of)
def test_loss(case, check, rng, tmp_path):
    contracts.run(check, case, rng, tmp_path)
