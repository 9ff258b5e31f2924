"""Tests that every public layer, loss and model passes the checks in `contracts.py`."""

import numpy as np
import pytest

from keras_dml import layers, losses, models
from keras_dml._backend import keras, ops
from tests import contracts
from tests.contracts import Loss, Network

pytestmark = pytest.mark.shares_nothing


def name_of(value):
    return getattr(value, "name", None) or getattr(value, "__name__", "cases")


def encoder(name, loss, **options):
    return Network(
        f"sequence_encoder {name}",
        models.sequence_encoder,
        lambda: models.sequence_encoder(contracts.CHANNELS, knots=5, **options),
        loss,
    )


def proxies(classes):
    """Returns a model that ends with the layer `Proxies`, because this layer takes vectors."""
    signal = keras.Input((None, contracts.CHANNELS))
    return keras.Sequential([signal, layers.SequencePooling(), layers.Proxies(classes)])


def pose():
    """Returns a model that ends with `CanonicalPose`. Earlier layers compute the coordinates of
    three joints."""
    signal = keras.Input((None, contracts.CHANNELS))
    joints = layers.MaskedConv1D(9, 1, name="joints")
    return keras.Sequential([signal, joints, layers.CanonicalPose(0, hips=(1, 2))])


def gravity_frame(horizontal, channels=3):
    """Returns a model that ends with `GravityFrame`. Earlier layers compute the accelerations x, y
    and z, and with six channels also the angular rates."""
    signal = keras.Input((None, contracts.CHANNELS))
    sensor = layers.MaskedConv1D(channels, 1, name="sensor")
    return keras.Sequential([signal, sensor, layers.GravityFrame(horizontal, lag=2)])


def log_mel():
    """Returns a model that ends with `LogMel`. Earlier layers compute one channel of audio. At 200
    Hz a frame has five samples."""
    signal = keras.Input((None, contracts.CHANNELS))
    sound = layers.MaskedConv1D(1, 1, name="sound")
    return keras.Sequential([signal, sound, layers.LogMel(2, rate=200, low=0, high=100)])


def silence_removal():
    """Returns the layer `SilenceRemoval` for audio at 200 Hz, in which a block has four samples."""
    signal = keras.Input((None, contracts.CHANNELS))
    sound = layers.MaskedConv1D(1, 1, name="sound")
    return keras.Sequential([signal, sound, layers.SilenceRemoval(200, pause=0.08, least=8)])


def mel_power():
    signal = keras.Input((None, contracts.CHANNELS))
    sound = layers.MaskedConv1D(1, 1, name="sound")
    return keras.Sequential([signal, sound, layers.MelPower(2, rate=200)])


def last_lstm():
    """Returns a model with `LastLSTM` in which the number of steps is known, because the steps are
    the rows of a covariance matrix."""
    signal = keras.Input((None, contracts.CHANNELS))
    return keras.Sequential([signal, layers.Covariance("oas"), layers.LastLSTM(3, depth=2)])


def windowed_mean():
    """Returns the layer `WindowedMean` with a network that takes windows of four steps."""
    window = keras.Input((4, contracts.CHANNELS))
    network = keras.Sequential([window, keras.layers.Flatten(), keras.layers.Dense(3)])
    return layers.WindowedMean(network, 2, 3, 1)


def eye_velocity():
    parts = [models.eye_velocity_part(kind, 20, 3, narrower=64) for kind in ("slow", "fast")]
    return models.eye_velocity_network(*parts, narrower=32)


def keystrokes(*statistics):
    """Returns a model that ends with `KeystrokeResiduals` and the given layers. Earlier layers
    compute times and codes of keys."""
    signal = keras.Input((None, contracts.CHANNELS))
    typed = layers.MaskedConv1D(3, 1, name="typed")
    return keras.Sequential([signal, typed, layers.KeystrokeResiduals(), *statistics])


def images(subject, large=False, **options):
    """Returns the smallest possible encoder of images."""
    return Network(subject.__name__, subject, lambda: subject(**options), stock=True, large=large)


def spdnet(name, make, subject=models.spdnet):
    return Network(f"spdnet {name}", subject, make, lambda: losses.NPairLoss("inner"))


def some_potatoes():
    """Returns matrices and labels with which Riemannian potatoes are calibrated."""
    x = np.random.default_rng(4).normal(size=(4 * contracts.BATCH, 20, contracts.CHANNELS))
    return np.swapaxes(x, 1, 2) @ x / 20, np.arange(len(x)) % contracts.BATCH


def potatoes():
    layer = layers.ClassPotatoes(contracts.BATCH, update_rate=0.1)
    layer.calibrate(*some_potatoes())
    return layer


def potato_network():
    encoder = models.spdnet((contracts.CHANNELS, 3), output="spd")
    network = models.PotatoNetwork(encoder, contracts.BATCH, update_rate=0.1)
    network.calibrate(*some_potatoes())
    return network


def similarity():
    """Returns a model that ends in similarities to constant vectors."""
    signal = keras.Input((None, contracts.CHANNELS))
    rows = np.random.default_rng(5).normal(size=(2, contracts.CHANNELS)).astype("float32")
    pooled = layers.SequencePooling("mean")(signal)
    layer = layers.LearnedSimilarity((5,), symmetry="mean")
    return keras.Model(signal, layer(pooled, ops.convert_to_tensor(rows)))


def prototypes():
    """Returns a model that ends with the layer `PrototypeSimilarity`, because this layer takes
    vectors."""
    signal = keras.Input((None, contracts.CHANNELS))
    head = layers.PrototypeSimilarity(3, hidden=(5,), class_names=["a", "b", "c"])
    return keras.Sequential([signal, layers.SequencePooling("mean"), head])


def classifier():
    """Returns a classifier without dropout, because files do not contain the state of its random
    generator."""
    signal = keras.Input((None, contracts.CHANNELS))
    encoder = keras.Sequential([signal, layers.SequencePooling("mean"), keras.layers.Dense(3)])
    return models.PrototypicalClassifier(encoder, contracts.BATCH, hidden=(5,), dropout=0.0)


def adversarial_training():
    """Returns a model for adversarial training that takes images with values in [0, 1]."""
    image = keras.Input((4, 4, 1))
    encoder = keras.Sequential([image, keras.layers.Flatten(), keras.layers.Dense(3)])
    inner = models.PrototypicalClassifier(encoder, contracts.BATCH, hidden=(5,), dropout=0.0)
    return models.AdversarialTraining(inner, epsilon=0.1, steps=2, seed=3)


def grad_cache():
    signal = keras.Input((None, contracts.CHANNELS))
    stack = [layers.MaskedConv1D(6, 3), layers.QuantileLayer(4)]
    return models.GradCache(keras.Sequential([signal, *stack]), chunk=2)


def contracted():
    """Adds an input contract to an existing model."""
    contract = input_contract()
    signal = keras.Input((None, contracts.CHANNELS))
    model = keras.Model(signal, layers.QuantileLayer(4)(layers.MaskedConv1D(6, 3)(signal)))
    return models.with_contract(model, contract)


def input_contract():
    contract = layers.InputContract([*"wxyz"], "g", 100, min_steps=2, max_steps=10**6)
    contract.adapt(np.random.default_rng(6).normal(size=(4, 30, contracts.CHANNELS)))
    return contract


def discriminants():
    """Returns a model that ends with the layer `LinearDiscriminants`, because this layer takes
    vectors."""
    signal = keras.Input((None, contracts.CHANNELS))
    head = layers.LinearDiscriminants(3, limit=1.5)
    model = keras.Sequential([signal, layers.LaggedCorrelation((0, 2)), head])
    rng = np.random.default_rng(5)
    head.set_weights([rng.normal(size=weight.shape) for weight in head.get_weights()])
    return model


def two_covariance():
    """Returns a model that ends with the layer `TwoCovariance`, because this layer takes
    vectors."""
    signal = keras.Input((None, contracts.CHANNELS))
    head = layers.TwoCovariance(3)
    model = keras.Sequential([signal, layers.SequencePooling("mean"), head])
    rng = np.random.default_rng(5)
    head.set_weights([rng.uniform(0.5, 2, size=weight.shape) for weight in head.get_weights()])
    return model


NETWORKS = [
    Network("AdversarialTraining", models.AdversarialTraining, adversarial_training),
    Network("BiMap", layers.BiMap, lambda: layers.BiMap(3)),
    Network("CanonicalPose", layers.CanonicalPose, pose),
    Network("ChannelNormalization", layers.ChannelNormalization, layers.ChannelNormalization),
    Network("Covariance", layers.Covariance, lambda: layers.Covariance("oas")),
    Network("GravityFrame both", layers.GravityFrame, lambda: gravity_frame("both")),
    Network("GravityFrame with rates", layers.GravityFrame, lambda: gravity_frame("both", 6)),
    Network("GravityFrame magnitude", layers.GravityFrame, lambda: gravity_frame("magnitude")),
    Network("KeystrokeResiduals", layers.KeystrokeResiduals, keystrokes),
    Network(
        "KeystrokeStatistics",
        layers.KeystrokeStatistics,
        lambda: keystrokes(layers.KeystrokeStatistics()),
    ),
    Network(
        "LaggedCorrelation",
        layers.LaggedCorrelation,
        lambda: layers.LaggedCorrelation((0, 3), ridge=0.1),
    ),
    Network("LastLSTM", layers.LastLSTM, last_lstm),
    Network("GradCache", models.GradCache, grad_cache, losses.WassersteinLoss),
    Network("LogEig", layers.LogEig, layers.LogEig),
    Network("LearnedSimilarity", layers.LearnedSimilarity, similarity),
    Network(
        "LogEig rectified",
        layers.LogEig,
        lambda: layers.LogEig(0.3),
    ),
    Network("LinearDiscriminants", layers.LinearDiscriminants, discriminants),
    Network("LogMel", layers.LogMel, log_mel),
    Network(
        "MaskedAveragePooling1D",
        layers.MaskedAveragePooling1D,
        lambda: layers.MaskedAveragePooling1D(4),
    ),
    Network("MaskedConv1D", layers.MaskedConv1D, lambda: layers.MaskedConv1D(6, 5)),
    Network("MelPower", layers.MelPower, mel_power),
    Network("MinimumLevel", layers.MinimumLevel, lambda: layers.MinimumLevel(2.0)),
    Network("ClassPotatoes", layers.ClassPotatoes, potatoes),
    Network(
        "PotatoNetwork", models.PotatoNetwork, potato_network, lambda: losses.PotatoRankingLoss(0.5)
    ),
    Network("PrototypeSimilarity", layers.PrototypeSimilarity, prototypes),
    Network(
        "PrototypicalClassifier",
        models.PrototypicalClassifier,
        classifier,
        losses.PrototypicalLoss,
    ),
    Network("Proxies", layers.Proxies, lambda: proxies(4)),
    Network("QuantileLayer", layers.QuantileLayer, lambda: layers.QuantileLayer(5, p=2)),
    Network(
        "QuantileLayer flat",
        layers.QuantileLayer,
        lambda: layers.QuantileLayer(5, flatten=True, host_sort=False),
    ),
    Network("ReEig", layers.ReEig, lambda: layers.ReEig(0.3)),
    Network("InputContract", layers.InputContract, input_contract),
    Network(
        "InstanceStandardization",
        layers.InstanceStandardization,
        lambda: layers.InstanceStandardization(epsilon=1e-3),
    ),
    Network(
        "RiemannianBatchNormalization",
        layers.RiemannianBatchNormalization,
        lambda: layers.RiemannianBatchNormalization(0.5),
    ),
    Network("SequencePooling max", layers.SequencePooling, layers.SequencePooling),
    Network("SequencePooling mean", layers.SequencePooling, lambda: layers.SequencePooling("mean")),
    Network(
        "FixedNormalization",
        layers.FixedNormalization,
        lambda: layers.FixedNormalization([0.1, 0.2, 0.3, 0.4], 0.5),
    ),
    Network("StatisticsPooling", layers.StatisticsPooling, layers.StatisticsPooling),
    Network("FirstDifference", layers.FirstDifference, layers.FirstDifference),
    Network("TangentMap", layers.TangentMap, lambda: layers.TangentMap(3, 0.3)),
    Network("TwoCovariance", layers.TwoCovariance, two_covariance),
    Network("SilenceRemoval", layers.SilenceRemoval, silence_removal),
    Network("TangentVector", layers.TangentVector, layers.TangentVector),
    Network("VoiceActivity", layers.VoiceActivity, layers.VoiceActivity),
    Network("WindowedMean", layers.WindowedMean, windowed_mean),
    encoder("quantile", losses.WassersteinLoss),
    encoder("flat", losses.NPairLoss, flatten=True, normalization="instance", halvings=0),
    Network(
        "xvector",
        models.xvector,
        lambda: models.xvector([(6, 5, 1), (5, 3, 2)], embedding=4, bands=8),
        lambda: losses.NPairLoss("inner"),
    ),
    Network(
        "ge2e",
        models.ge2e,
        lambda: models.ge2e(units=4, depth=1, bands=8),
        lambda: losses.NPairLoss("cosine"),
    ),
    Network(
        "eye_velocity_part",
        models.eye_velocity_part,
        lambda: models.eye_velocity_part("slow", 20, 3, narrower=64),
        stock=True,
    ),
    Network("eye_velocity_network", models.eye_velocity_network, eye_velocity, stock=True),
    images(models.conv4, width=3, embedding=2),
    images(models.efficientnet_lite0, large=True, input_shape=(32, 32, 3)),
    images(models.lenet, input_shape=(12, 12, 1), embedding=3),
    images(models.resnet12, large=True, input_shape=(16, 16, 3), widths=(2, 3, 4, 5)),
    images(models.resnet50, large=True, input_shape=(32, 32, 3)),
    images(models.thresholding_cnn, input_shape=(8, 8, 1), width=2, embedding=3),
    images(models.wide_resnet, large=True, depth=10, width=1, input_shape=(8, 8, 3)),
    spdnet("on matrices", lambda: models.spdnet((4, 3, 2))),
    spdnet(
        "on recordings",
        lambda: models.spdnet((4, 3), estimator="oas", normalization="instance"),
    ),
    spdnet(
        "with another solver",
        lambda: models.with_solver(models.spdnet((4, 3, 2)), "polynomial"),
        models.with_solver,
    ),
    Network("with_contract", models.with_contract, contracted, losses.WassersteinLoss),
]


def vectors():
    """Returns a model without a head, whose output vectors any distance can compare."""
    entry = keras.Input((None, contracts.CHANNELS))
    last = keras.layers.Rescaling(1.0, dtype="float32")
    return keras.Sequential([entry, layers.SequencePooling(), last])


def triplet(mining, **options):
    return Loss(
        f"TripletLoss {mining}",
        losses.TripletLoss,
        lambda **kwargs: losses.TripletLoss(0.5, mining, **options, **kwargs),
        vectors,
    )


LOSSES = [
    Loss(
        "WassersteinLoss",
        losses.WassersteinLoss,
        losses.WassersteinLoss,
        layers.QuantileLayer,
        rows=2,
    ),
    Loss(
        "WassersteinLoss symmetric",
        losses.WassersteinLoss,
        lambda **kwargs: losses.WassersteinLoss(2, symmetric=True, **kwargs),
        lambda: layers.QuantileLayer(5, p=2),
        rows=2,
    ),
    Loss(
        "NPairLoss",
        losses.NPairLoss,
        lambda **kwargs: losses.NPairLoss(scale=4, **kwargs),
        layers.SequencePooling,
        rows=2,
    ),
    Loss(
        "NPairLoss inner",
        losses.NPairLoss,
        lambda **kwargs: losses.NPairLoss("inner", l2=0.02, **kwargs),
        lambda: layers.QuantileLayer(5, flatten=True),
        rows=2,
    ),
    Loss(
        "ContrastiveLoss",
        losses.ContrastiveLoss,
        lambda **kwargs: losses.ContrastiveLoss(2, "wasserstein", **kwargs),
        lambda: layers.QuantileLayer(5),
    ),
    Loss(
        "DSMLTripletLoss",
        losses.DSMLTripletLoss,
        lambda **kwargs: losses.DSMLTripletLoss(zero_mean_weight=0.1, **kwargs),
        layers.SequencePooling,
    ),
    Loss(
        "LiftedStructureLoss",
        losses.LiftedStructureLoss,
        lambda **kwargs: losses.LiftedStructureLoss(0.5, **kwargs),
        vectors,
    ),
    Loss(
        "PrototypicalLoss",
        losses.PrototypicalLoss,
        lambda **kwargs: losses.PrototypicalLoss(pair_weight=0.5, label_smoothing=0.1, **kwargs),
        classifier,
        rows=None,
        given=lambda scores: {"scores": scores, "pairs": ops.matmul(scores, ops.transpose(scores))},
    ),
    Loss("ProxyNCALoss", losses.ProxyNCALoss, losses.ProxyNCALoss, lambda: proxies(3)),
    triplet("all", squared=False),
    triplet("random", seed=5),
    triplet("semi_hard", fallback="farthest"),
    triplet("hard", soft=True, distance="cosine"),
    Loss(
        "PotatoRankingLoss",
        losses.PotatoRankingLoss,
        lambda **kwargs: losses.PotatoRankingLoss(0.5, weight=2, **kwargs),
        lambda: keras.Sequential(
            [
                keras.Input((None, contracts.CHANNELS)),
                layers.Covariance("oas"),
                potatoes(),
            ]
        ),
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


# On JAX each of these checks compiles all cases once more. What they check is written in Python or
# by Keras operations whose results on JAX other checks and the golden values test.
SLOW_ON_JAX = (
    contracts.keras_file_rebuilds_it,
    contracts.padding_moves_nothing,
    contracts.one_recording_is_a_batch,
    contracts.no_recordings_give_an_empty_batch,
    contracts.loss_configuration_rebuilds_it,
    contracts.loss_survives_a_keras_file,
    contracts.loss_of_a_single_pair_is_finite,
    contracts.configuration_holds_every_argument,
)
# Files of these networks train on by default: a loss on embeddings, and a loss with a head.
TRAINED = ("GradCache", "PrototypicalClassifier")
# These losses are written to Keras files by default: a loss on embeddings, and a loss with a head.
SAVED = ("WassersteinLoss", "PrototypicalLoss")
# On JAX the tests of these networks compile for seconds, and `sequence_encoder quantile` stays.
HALF_ON_JAX = ("MaskedAveragePooling1D", "LogMel", "spdnet on matrices")
LARGE_ON_JAX = ("sequence_encoder flat", "xvector", "ge2e")


def marked(case, check):
    """Returns the parameters of a test, marked if the check is slow."""
    trains = check is contracts.loaded_model_trains_on_like_the_original
    slow = (
        (trains and case.loss is not None and case.name not in TRAINED)
        or (check is contracts.loss_survives_a_keras_file and case.name not in SAVED)
        or check is contracts.keras_file_rebuilds_layers_and_weights
        # a Keras file, which `keras_file_rebuilds_it` reads, holds the configuration as JSON
        or check is contracts.configuration_rebuilds_it
    )
    slow_on_jax = (
        trains
        or check in SLOW_ON_JAX
        or case.name in LARGE_ON_JAX
        or (check is contracts.half_precision_is_close and case.name not in HALF_ON_JAX)
    )
    marks = [pytest.mark.slow] * slow + [pytest.mark.slow_on_jax] * slow_on_jax
    return pytest.param(case, check, marks=marks)


@pytest.mark.parametrize(
    ("case", "check"),
    [marked(case, check) for case in NETWORKS for check in contracts.checks_of(case)],
    ids=name_of,
)
def test_network(case, check, rng, tmp_path):
    contracts.run(check, case, rng, tmp_path)


@pytest.mark.parametrize(
    ("case", "check"),
    [marked(case, check) for case in LOSSES for check in contracts.LOSS_CHECKS],
    ids=name_of,
)
def test_loss(case, check, rng, tmp_path):
    contracts.run(check, case, rng, tmp_path)
