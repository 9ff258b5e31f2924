"""Tests training by Algorithm 1, saved files, new classes and errors of PrototypicalClassifier."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest

import keras_dml
from keras_dml import losses, models
from keras_dml._backend import keras, ops
from keras_dml.geometry import vector
from tests.contracts import HALF_POLICIES, dtype_policy
from tests.geometry import perceptrons
from tests.geometry.perceptrons import numpy, staged
from tests.gradients import gradients
from tests.graphs import with_xla

ROOT = pathlib.Path(__file__).parents[2]
CLASSES, FEATURES, WIDTH = 3, 4, 2
JAX = keras.backend.backend() == "jax"
TERMS = ("class_weight", "pair_weight", "aux_weight")
once = pytest.mark.skipif(JAX, reason="the same on every backend")


def data(rows=12, seed=5, classes=CLASSES):
    """Draws a cluster of points for each class."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    centers = np.random.default_rng(1).normal(scale=2, size=(9, FEATURES))
    return (centers[y] + rng.normal(size=(rows, FEATURES))).astype("float32"), y


def classifier(
    compiled=True, *, loss=None, jit_compile=JAX, optimizer=None, eager=False, **options
):
    """Returns a classifier without dropout, because model files do not contain the random generator
    of dropout.
    """
    keras.utils.set_random_seed(2)
    encoder = keras.Sequential(
        [
            keras.Input((FEATURES,)),
            keras.layers.Dense(5, activation="tanh"),
            keras.layers.Dense(WIDTH),
        ]
    )
    options = {"hidden": (6,), "dropout": 0.0, **options}
    model = models.PrototypicalClassifier(encoder, CLASSES, **options)
    if compiled:
        optimizer = optimizer or keras.optimizers.SGD(0.05)
        model.compile(
            optimizer,
            loss,
            metrics=["accuracy"],
            jit_compile=jit_compile and not eager,
            run_eagerly=eager,
        )
    return model


def weights(model):
    return {weight.path: numpy(weight) for weight in model.weights}


def state(model):
    head = model.prototypes_layer
    return [numpy(item) for item in (head.prototypes, head.visits, head.counts)]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def fit(model, x, y, epochs=1, batch_size=6):
    return model.fit(x, y, batch_size=batch_size, epochs=epochs, shuffle=False, verbose=0).history


@pytest.fixture(scope="module")
def trained():
    """Returns a trained classifier. Tests must not change this classifier."""
    model = classifier()
    fit(model, *data())
    return model


# ---- one step ---------------------------------------------------------------------------------


def golden_classifier():
    """Returns a classifier with an identity encoder and the weights of the golden file."""
    actual = perceptrons.example("algorithm-1-one-step")
    inputs = actual[0]
    encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    hidden = len(inputs["layers"][0]["bias"])
    model = models.PrototypicalClassifier(
        encoder, 3, hidden=hidden, dropout=0.0, slope=inputs["slope"], decay=inputs["lambda"]
    )
    layers = [np.array(item[key]) for item in inputs["layers"] for key in ("kernel", "bias")]
    model.prototypes_layer.similarity.set_weights(layers)
    model.aux_head.set_weights([np.array(inputs["dense"][key]) for key in ("kernel", "bias")])
    model.prototypes_layer.prototypes.assign(inputs["prototypes"])
    return model, actual


def test_golden_step_of_algorithm_1():
    """Tests that the class term uses the new prototypes, without a gradient through them."""
    model, (inputs, expected, gradient, close, close_gradient) = golden_classifier()
    z, y = np.array(inputs["z"], "float32"), np.array(inputs["y"], "int32")
    labels = ops.convert_to_tensor(y)

    def step(z):
        with keras.StatelessScope() as scope:
            loss = model.compute_loss(None, labels, {"embedding": z, "scores": z}, training=True)
        return loss, scope.get_current_value(model.prototypes_layer.prototypes)

    loss, after = staged(step)(z)
    np.testing.assert_allclose(float(loss), expected["value"], **close)
    np.testing.assert_allclose(numpy(after), expected["prototypes_after"], **close)
    (actual,) = gradients(staged(lambda z: step(z)[0]), z)
    np.testing.assert_allclose(actual, gradient["z"], **close_gradient)
    through = perceptrons.golden("algorithm-1-one-step", "seeds_p2")
    through = through["gradient_if_it_flowed_through_the_update"]["z"]
    assert np.abs(actual - through).max() > 1e-4

    before = staged(lambda z: model.terms(z, labels)[0])(z)
    np.testing.assert_allclose(float(before), expected["class_with_prototypes_of_before"], **close)
    model.prototypes_layer.prototypes.assign(numpy(after))
    terms = staged(lambda z: model.terms(z, labels))(z)
    for term, name in zip(terms, ("class", "pair", "aux"), strict=False):
        np.testing.assert_allclose(float(term), expected[name], **close)
    assert float(terms[3]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("jit_compile", [True] if JAX else [True, False])
def test_prototypes_after_fit_equal_algorithm_1_in_numpy(jit_compile):
    """Compares the prototypes after five training steps, which also change the encoder.

    Only the fourth batch has rows of the third class. The last batch has an invalid label and
    changes no weights.
    """
    model = classifier(jit_compile=jit_compile)
    x, y = data(30)
    y[y == 2] = np.where(np.flatnonzero(y == 2) // 6 == 3, 2, 0)
    expected, visits = numpy(model.prototypes_layer.prototypes).astype(float), np.zeros(CLASSES)
    first, tolds = expected.copy(), []
    for part in np.split(np.arange(30), 5):
        z, labels = numpy(model.embed(x[part])), y[part]
        for k in np.unique(labels):
            expected[k] = 0.9 * expected[k] + 0.1 * z[labels == k].mean(axis=0)
            visits[k] += 1
        tolds.append(fit(model, x[part], labels))
        np.testing.assert_allclose(model.prototypes, expected, rtol=1e-5, atol=1e-6)
        if not visits[2]:
            np.testing.assert_array_equal(model.prototypes[2], first[2].astype("float32"))
    assert visits.tolist() == [5, 5, 1]
    np.testing.assert_array_equal(numpy(model.prototypes_layer.visits), visits)
    assert set(tolds[0]) == {"loss", "accuracy", "class_loss", "pair_loss", "aux_loss", "positives"}
    reported = {key: value[0] for key, value in tolds[0].items()}
    total = reported["class_loss"] + reported["pair_loss"] + reported["aux_loss"]
    assert reported["loss"] == pytest.approx(total, rel=1e-5)
    counts = np.bincount(y[:6])
    assert reported["positives"] == (counts * (counts - 1)).sum()

    before = weights(model)
    for strange in (CLASSES, -1):
        labels = ops.convert_to_tensor(np.where(np.arange(6) == 2, strange, y[:6]))
        if JAX:  # a step with an error destroys the weights
            continue
        if jit_compile:  # XLA drops assertions
            assert np.isnan(fit(model, x[:6], labels)["loss"]).all()
            continue
        with pytest.raises(Exception, match=f"(?s)class ids.*Received.*{strange}"):
            fit(model, x[:6], labels)
    after = weights(model)
    for path, value in before.items():
        np.testing.assert_array_equal(after[path], value, err_msg=path)


@once
def test_training_lowers_the_loss_and_finds_the_classes():
    model = classifier(optimizer=keras.optimizers.Adam(0.03))
    x, y = data(24)
    history = fit(model, x, y, epochs=20, batch_size=12)
    assert history["loss"][-1] < 0.6 * history["loss"][0]
    assert (model.classify(x) == y).mean() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("aux, symmetry", [("softmax", "none"), ("am", "max"), (None, "mean")])
def test_terms_are_those_of_their_definitions(aux, symmetry):
    options = {"aux": aux, "symmetry": symmetry, "class_names": ["a", "b", "c"]}
    loss = losses.PrototypicalLoss(label_smoothing=0.1, pair_smoothing=0.05, trials="unordered")
    model = classifier(loss=loss, **options)
    x, y = data(6)
    z, labels = numpy(model.embed(x)), ops.convert_to_tensor(y.astype("int32"))
    logits = None
    if aux == "softmax":
        logits = numpy(model.scores(x, "dol"))
    elif aux == "am":
        cosines = numpy(vector.cosine(z, numpy(model.aux_head.kernel).T))
        np.testing.assert_allclose(numpy(model.scores(x, "dol")), cosines, rtol=0, atol=1e-6)
        logits = losses.prototypes.additive_margin(cosines, labels)
    expected = loss.terms(labels, numpy(model(x)), numpy(model.similarity(z, z)), logits)
    terms = staged(lambda z: model.terms(z, labels))(z)
    for actual, wanted in zip(terms, expected, strict=True):
        np.testing.assert_allclose(float(actual), float(wanted), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_terms_of_weight_0_are_reported_as_0(left_out):
    weights = [0.5, 2.0, 3.0]
    x, y = data(6)
    whole = classifier(loss=losses.PrototypicalLoss(**dict(zip(TERMS, weights, strict=True))))
    weights[left_out] = 0.0
    model = classifier(loss=losses.PrototypicalLoss(**dict(zip(TERMS, weights, strict=True))))
    labels = ops.convert_to_tensor(y.astype("int32"))
    expected = [float(item) for item in whole.terms(whole.embed(x), labels)[:3]]
    expected[left_out] = 0.0
    actual = [float(item) for item in model.terms(model.embed(x), labels)[:3]]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", [0.2] if JAX else [0.0, 0.2])
def test_candidates_of_a_batch_with_all_classes_are_all_classes(smoothing):
    """Tests the values and the gradients of the loss. If a batch has only some of the classes,
    there are fewer candidates, and the class term of the loss is smaller.
    """
    x, y = data(6)
    labels, z = ops.convert_to_tensor(y.astype("int32")), None
    actual = {}
    for candidates in ("all", "batch"):
        loss = losses.PrototypicalLoss(candidates=candidates, label_smoothing=smoothing)
        model = classifier(loss=loss)
        z = numpy(model.embed(x)) if z is None else z
        term = staged(lambda z, m=model: m.terms(z, labels)[0])
        actual[candidates] = float(term(z)), gradients(term, z)[0]
    np.testing.assert_allclose(actual["all"][0], actual["batch"][0], rtol=1e-6)
    np.testing.assert_allclose(actual["all"][1], actual["batch"][1], rtol=1e-5, atol=1e-7)
    two = ops.convert_to_tensor(np.array([0, 1, 0, 1, 0, 1], "int32"))
    assert float(model.terms(z, two)[0]) < float(classifier().terms(z, two)[0])


@pytest.mark.slow_on_jax
def test_classes_of_the_batch_compile_with_xla():
    model = classifier(loss=losses.PrototypicalLoss(candidates="batch"), jit_compile=True)
    x, y = data(5)
    z, labels = model.embed(x), ops.convert_to_tensor(y.astype("int32"))
    actual = with_xla(lambda z: model.terms(z, labels))(z)
    np.testing.assert_allclose(actual, model.terms(z, labels), rtol=1e-5)


@pytest.mark.slow_on_jax
def test_a_batch_without_positive_pairs_is_finite():
    model, (x, y) = classifier(), data(3)
    z, labels = numpy(model.embed(x)), ops.convert_to_tensor(y.astype("int32"))
    terms = staged(lambda z: model.terms(z, labels))(z)
    assert float(terms[3]) == 0 and float(terms[1]) > 0
    (actual,) = gradients(staged(lambda z: sum(model.terms(z, labels)[:3])), z)
    assert np.isfinite(actual).all() and (actual != 0).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("policy", HALF_POLICIES[:1] if JAX else HALF_POLICIES)
def test_heads_and_loss_are_float32_whatever_the_policy(policy):
    with dtype_policy(policy):
        model = classifier()
        x, y = data(6)
        z = model.embed(x)
        assert keras.backend.standardize_dtype(z.dtype) == policy.removeprefix("mixed_")
        loss = model.compute_loss(x, y, model(x, training=True))
    assert np.isfinite(float(loss))
    for item in (loss, model(x), model.scores(x, "dol"), model.prototypes_layer.prototypes):
        assert keras.backend.standardize_dtype(item.dtype) == "float32"


# ---- operations that do not change prototypes -------------------------------------------------


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_inference_moves_nothing(trained):
    from keras_dml._backend.gradients import value_and_gradient
    from keras_dml.losses import robust

    before, (x, y) = weights(trained), data()
    reported = trained.evaluate(x, y, verbose=0, return_dict=True)
    assert set(reported) == {"loss", "accuracy", "class_loss", "pair_loss", "aux_loss", "positives"}
    terms = trained.terms(trained.embed(x), ops.convert_to_tensor(y.astype("int32")))
    np.testing.assert_allclose(
        [
            reported["class_loss"],
            reported["pair_loss"],
            reported["aux_loss"],
            reported["positives"],
        ],
        [float(term) for term in terms],
        rtol=1e-5,
    )
    total = reported["class_loss"] + reported["pair_loss"] + reported["aux_loss"]
    assert reported["loss"] == pytest.approx(total, rel=1e-5)
    assert 0 <= reported["accuracy"] <= 1
    np.testing.assert_allclose(
        trained.predict(x, verbose=0), numpy(trained(x)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_array_equal(numpy(trained.scores(x)), numpy(trained(x)))
    assert trained.classify(x).shape == y.shape
    trained.embed(x)
    for head in ("sim", "dol"):
        attacked = lambda x, head=head: robust.cross_entropy(y, trained.scores(x, head))  # noqa: E731
        _, gradient = value_and_gradient(attacked, ops.convert_to_tensor(x))
        assert np.abs(numpy(gradient)).min() > 0
    for path, value in weights(trained).items():
        np.testing.assert_array_equal(value, before[path], err_msg=path)


@pytest.mark.slow
@pytest.mark.slow_on_jax
def test_embed_and_distance_work_as_for_every_model(trained):
    x, _ = data(6)
    z = numpy(trained.embed(x))
    assert z.shape == (6, WIDTH)
    distances = keras_dml.distance(trained, z, z[:2])
    assert isinstance(distances, np.ndarray) and distances.shape == (6, 2)
    np.testing.assert_array_equal(distances, -numpy(trained.similarity(z, z[:2])))
    np.testing.assert_allclose(
        numpy(trained.similarity(z, trained.prototypes)), numpy(trained(x)), rtol=1e-5, atol=1e-6
    )


# ---- files ------------------------------------------------------------------------------------


@pytest.mark.slow
@once
def test_loaded_model_continues_training_bit_for_bit(tmp_path):
    """Tests that a loaded model continues training with equal weights, added classes, loss,
    optimizer state and counts.
    """
    x, y = data()
    original = classifier(
        loss=losses.PrototypicalLoss(pair_weight=0.5, label_smoothing=0.1),
        optimizer=keras.optimizers.Adam(0.01),
        class_names=["a", "b", "c"],
        decay=0.8,
        init="first_mean",
    )
    fit(original, x, y, epochs=2)
    original.add_classes(["new"], x[:2], [0, 0])
    original.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is models.PrototypicalClassifier
    assert loaded.class_names == ["a", "b", "c", "new"]
    assert loaded.loss.get_config() == original.loss.get_config()
    configs = [first.get_config() for first in (loaded, original)]
    assert configs[0].pop("encoder") and configs[1].pop("encoder")
    assert configs[0] == configs[1]
    assert_same(state(loaded), state(original))
    assert state(loaded)[2].tolist() == [0, 0, 0, 2]
    assert_same(map(numpy, original.optimizer.variables), map(numpy, loaded.optimizer.variables))
    loaded.extend_class("new", x[2:3])
    original.extend_class("new", x[2:3])
    assert fit(original, x, y) == fit(loaded, x, y)
    for first, second in zip(original.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(numpy(first), numpy(second), err_msg=first.path)
    assert original.evaluate(x, y, verbose=0) == loaded.evaluate(x, y, verbose=0)


@pytest.mark.slow
@once
def test_a_fresh_process_reads_the_file(tmp_path, trained):
    trained.save(tmp_path / "model.keras")
    x, _ = data()
    np.save(tmp_path / "x.npy", x)
    code = (
        "import sys, numpy as np, keras_dml\n"
        "model = keras_dml.zoo.load(sys.argv[1] + '/model.keras')\n"
        "x = np.load(sys.argv[1] + '/x.npy')\n"
        "np.save(sys.argv[1] + '/scores.npy', model(x))\n"
        "print(type(model).__name__, *model.class_names)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["PrototypicalClassifier", "0", "1", "2"]
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), numpy(trained(x)))


# ---- new classes ------------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_classes_are_added_extended_replaced_and_refitted():
    model = classifier(compiled=False)
    x, y = data(16, classes=4)
    z = numpy(model.embed(x))
    old = model.prototypes
    model.add_classes(["d"], x[y == 3][:2], [0, 0], batch_size=1)
    np.testing.assert_array_equal(model.prototypes[:3], old)
    model.extend_class("d", x[y == 3][2:])
    np.testing.assert_allclose(model.prototypes[3], z[y == 3].mean(axis=0), rtol=1e-5)
    model.refit_prototypes(x, y, batch_size=5)
    means = [z[y == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(model.prototypes, means, rtol=1e-5, atol=1e-6)
    assert model(x).shape == (16, 4) and model.scores(x, "dol").shape == (16, 3)
    assert model.compute_output_shape((16, FEATURES)) == (16, 4)
    model.set_prototypes(z[:2], ["x", "y"])
    assert model.class_names == ["x", "y"] and model(x).shape == (16, 2)


@pytest.mark.slow
@once
def test_training_continues_on_old_classes_after_adding_classes():
    """Tests that prototypes of old classes change and that labels of new classes raise an error.

    New classes raise an error because the auxiliary head has no unit for them. A compiled step also
    raises the error.
    """
    model, (x, y) = classifier(), data()
    fit(model, x, y)
    model.add_classes(["new"], x[:2], [0, 0])
    new = model.prototypes[3]
    assert model.predict(x, verbose=0).shape == (12, 4)
    assert np.isfinite(fit(model, x, y)["loss"]).all()
    np.testing.assert_array_equal(model.prototypes[3], new)
    with pytest.raises(ValueError, match=r"ids from 0 to 2.*Received \[3\]"):
        fit(model, x, np.where(y == 0, 3, y))
    if keras.backend.backend() == "tensorflow":  # on JAX the weights are lost
        with pytest.raises(Exception, match=r"ids from 0 to 2.*Received.*3"):
            fit(model, x, ops.convert_to_tensor(np.where(y == 0, 3, y)))
    reported = model.evaluate(x, np.where(y == 0, 3, y), verbose=0, return_dict=True)
    assert np.isfinite(reported["loss"])


@once
def test_without_an_auxiliary_head_new_classes_train_too():
    model, (x, _) = classifier(aux=None, eager=True), data()
    model.add_classes(["new"], x[:2], [0, 0])
    before = model.prototypes
    model.train_on_batch(x, np.full(len(x), 3))
    assert (model.prototypes[3] != before[3]).all()
    np.testing.assert_array_equal(model.prototypes[:3], before[:3])
    assert state(model)[2].tolist() == [0, 0, 0, 0]


# ---- classify ---------------------------------------------------------------------------------


@once
def test_ties_go_to_the_lowest_row_and_among_restricts_the_choice(trained):
    model = classifier(compiled=False)
    x, _ = data()
    row = np.ones((1, WIDTH), "float32")
    model.set_prototypes(np.concatenate([row, row, row]), ["a", "b", "c"])
    assert model.classify(x).tolist() == [0] * 12
    assert model.classify(x, among=["c", "b"], batch_size=5).tolist() == [1] * 12
    for among in (["d"], ["a", "d"], []):
        with pytest.raises(ValueError, match="`among` must name some of the model's classes"):
            model.classify(x, among=among)


@pytest.mark.slow_on_jax
def test_untrained_prototypes_cause_a_warning():
    model, (x, _) = classifier(compiled=False), data()
    with pytest.warns(UserWarning, match=r"3 prototypes were never trained, among them \['0'"):
        model.classify(x)
    model.add_classes(["new"], x[:1], [0])
    assert set(model.classify(x, among=["new"])) == {3}  # without a warning, which is an error


# ---- invalid input ----------------------------------------------------------------------------


@pytest.mark.slow_on_jax
def test_failed_changes_leave_the_model_unchanged(trained):
    """Tests that changes with invalid labels, examples or options leave the model unchanged. The
    tests of the layer have more cases.
    """
    x, y = data()
    before = [*state(trained), trained.class_names]
    with_nan = np.where(np.arange(12)[:, None] == 3, np.nan, x)
    refused = [
        (lambda: fit(trained, x, y + 1), r"ids from 0 to 2.*Received \[3\]"),
        (lambda: fit(trained, x, y - 1), r"Received \[-1\]"),
        (lambda: fit(trained, x, y + 0.5), r"Received \[0.5"),
        (lambda: fit(trained, x, np.eye(3)[y]), r"shape \(12,\). Received shape \(12, 3\)"),
        (lambda: fit(trained, x, y[:5]), r"shape \(12,\). Received shape \(5,\)"),
        (
            lambda: trained.compute_loss(x, y + 1, trained(x, training=True)),
            r"ids from 0 to 2.*Received \[3\]",
        ),
        (
            lambda: trained.compute_loss(x, np.eye(3)[y], trained(x, training=True)),
            "one-hot labels",
        ),
        (
            lambda: trained.fit(x, y, sample_weight=np.ones(12), verbose=0),
            "takes no `sample_weight`",
        ),
        (lambda: trained.add_classes(["0"], x, y), r"\['0'\]"),
        (lambda: trained.add_classes(["n", "n"], x[:2], [0, 1]), "twice"),
        (lambda: trained.add_classes(["n"], x[:0], []), "`x` is empty"),
        (lambda: trained.add_classes(["n"], with_nan, y * 0), "NaN or infinity, first in row 3"),
        (lambda: trained.refit_prototypes(x[y > 0], y[y > 0]), r"\['0'\]"),
        (lambda: trained.refit_prototypes(with_nan, y), "first in row 3"),
        (lambda: trained.set_prototypes(np.ones((3, 5))), r"\(count, 2\).*\(3, 5\)"),
        (lambda: trained.classify(x[:0]), "`x` is empty"),
        (lambda: trained.scores(x, "dool"), "Did you mean 'dol'|`head`"),
    ]
    for refuse, message in refused:
        with pytest.raises(ValueError, match=message):
            refuse()
        assert trained.class_names == before[-1]
        assert_same(state(trained), before[:-1])


@pytest.mark.slow
@once
def test_single_rows_and_columns_of_labels_are_accepted():
    model, (x, y) = classifier(eager=True), data()
    assert np.isfinite(fit(model, x[:1], y[:1])["loss"]).all()
    assert np.isfinite(fit(model, x[:4], y[:4, None])["loss"]).all()


@pytest.mark.slow_on_jax
@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: x[:, :5], r"Image 0 must have shape \(6, 6, 1\). Received shape \(5, 6, 1\)"),
        (lambda x: (255 * x).astype("uint8"), "Image 0 must hold floats.*dtype uint8"),
        (lambda x: 255 * x, "Image 0 must hold floats in .0, 1.*Divide bytes by 255"),
        (lambda x: np.where(np.arange(4)[:, None, None, None] == 2, np.nan, x), "Image 2"),
        (list, None),
    ],
)
def test_images_of_another_size_dtype_or_range_are_refused(rng, change, message):
    encoder = keras.Sequential(
        [keras.Input((6, 6, 1)), keras.layers.Flatten(), keras.layers.Dense(2)]
    )
    model = models.PrototypicalClassifier(encoder, 2, hidden=3)
    x, y = rng.random((4, 6, 6, 1), "float32"), np.array([0, 1, 0, 1])
    model.refit_prototypes(x, y)
    before = state(model)
    bad = change(x)
    calls = [
        lambda: model.refit_prototypes(bad, y),
        lambda: model.add_classes(["p", "q"], bad, y),
        lambda: model.extend_class("1", bad),
        lambda: model.classify(bad),
        lambda: keras_dml.embed(model, bad, progress=False),
    ]
    if message is None:
        assert_same([model.classify(bad)], [model.classify(x)])
        return
    calls.append(lambda: model.fit(bad, y, verbose=0))
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()
        assert_same(state(model), before)
        assert model.class_names == ["0", "1"]


@pytest.mark.slow
def test_maps_of_features_may_hold_any_number(rng):
    maps = rng.normal(scale=9, size=(4, 2, 2, 5)).astype("float32")
    encoder = keras.Sequential([keras.Input((2, 2, 5)), keras.layers.Flatten()])
    model = models.PrototypicalClassifier(encoder, 2, hidden=(3,))
    model.compile("sgd")
    model.fit(maps, np.array([0, 0, 1, 1]), verbose=0)
    model.refit_prototypes(maps, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(model.prototypes[0], maps[:2].reshape(2, -1).mean(axis=0), rtol=1e-5)
    assert keras_dml.embed(model, maps, progress=False).shape == (4, 20)
    with pytest.raises(ValueError, match="Feature map 1 holds NaN"):
        model.classify(np.where(np.arange(4)[:, None, None, None] == 1, np.nan, maps))


@pytest.mark.slow_on_jax
@pytest.mark.parametrize("ask", ["embed", "scores"])
def test_scores_and_embed_refuse_bytes(ask):
    encoder = keras.Sequential([keras.Input((6, 6, 1)), keras.layers.Flatten()])
    model = models.PrototypicalClassifier(encoder, 2, hidden=3)
    with pytest.raises(ValueError, match=r"`x` must hold floats.*uint8.*\(x / 255\)"):
        getattr(model, ask)(np.zeros((2, 6, 6, 1), "uint8"))


@pytest.mark.parametrize(
    "encoder",
    [
        "lenet",
        keras.Sequential([keras.layers.Dense(2)]),
        keras.Sequential([keras.Input((4, 4)), keras.layers.Dense(2)]),
        keras.Sequential([keras.Input((None, None, 2))]),
    ],
    ids=["a name", "not built", "a sequence", "maps"],
)
def test_encoders_without_vectors_are_refused(encoder):
    with pytest.raises(ValueError, match="`encoder` must be a built model with one input"):
        models.PrototypicalClassifier(encoder, 2)


def test_an_encoder_of_two_inputs_is_refused():
    inputs = [keras.Input((2,)), keras.Input((2,))]
    with pytest.raises(ValueError, match="`encoder` .* one input"):
        models.PrototypicalClassifier(keras.Model(inputs, keras.layers.Add()(inputs)), 2)


def test_another_loss_or_head_is_refused():
    model, (x, y) = classifier(aux=None, loss="mse"), data()
    with pytest.raises(ValueError, match="PrototypicalLoss.*Received loss='mse'"):
        fit(model, x, y)
    with pytest.raises(ValueError, match='`aux=None` and has no "dol" head'):
        model.scores(x, "dol")
    with pytest.raises(ValueError, match="`aux` must be one of"):
        classifier(aux="cosine")


@pytest.mark.parametrize(
    "wrong, message",
    [
        (lambda model, x: model.fit(x), "y=None"),
        (lambda model, x: model.embed(x[0]), r"batch of shape \(count, 4\).*shape \(4,\)"),
        (lambda model, x: model.scores(x[:, :3]), r"shape \(count, 4\).*shape \(12, 3\)"),
        (lambda model, x: model.classify(x, among="12"), "`among` must be a list.*'12'"),
        (lambda model, x: model.similarity(x[0, :2], x[:, :2]), r"known width.*\(2,\)"),
        (lambda model, x: model.similarity(x, x), r"\(n, 2\) and \(m, 2\).*\(12, 4\)"),
    ],
    ids=["no labels", "one input", "another size", "a name", "one embedding", "another width"],
)
def test_invalid_batches_are_refused_by_name(trained, wrong, message):
    with pytest.raises(ValueError, match=f"(?s){message}"):
        wrong(trained, data()[0])
