"""Tests the accuracy under adversarial attacks: reference values, invariants, and interrupted runs
that are resumed."""

import numpy as np
import pytest
from scipy import stats

from keras_dml import evaluation, models
from keras_dml._backend import keras, ops
from keras_dml.evaluation import attacks
from keras_dml.evaluation._robustness import Network
from keras_dml.losses import robust
from keras_dml.models import _attacks
from tests.goldens import golden

CLASSES = 4  # smallest number of classes for the targeted DLR
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def linear(kernel, bias):
    kernel = np.array(kernel, "float32")
    model = keras.Sequential([keras.Input((len(kernel),)), keras.layers.Dense(kernel.shape[1])])
    model.set_weights([kernel, np.array(bias, "float32")])
    return model


def robustness(*arguments, **options):
    return evaluation.robustness(*arguments, **{"progress": False, **options})


def examples(rows=60, seed=3):
    """Draws small images around one center per class. Attacks can change these images so that they
    are misclassified.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % CLASSES
    centers = np.random.default_rng(1).random((CLASSES, 4, 4, 1))
    return np.clip(centers[y] + 0.2 * rng.normal(size=(rows, 4, 4, 1)), 0, 1).astype("float32"), y


@pytest.fixture(scope="module")
def trained():
    """Trains a small classifier without a defense against attacks."""
    keras.utils.set_random_seed(0)
    encoder = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dense(4),
        ]
    )
    model = models.PrototypicalClassifier(encoder, CLASSES, hidden=16, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.02), jit_compile=False)
    model.fit(*examples(), batch_size=30, epochs=40, verbose=0)
    return model


# ---- one attack -------------------------------------------------------------------------------


def test_fgsm_of_the_golden_network():
    found = golden("fgsm-linear-model", "seeds_p2")
    given = found["inputs"]
    network = Network(linear(given["kernel"], given["bias"]), None, 8)
    x, y = np.array(given["x"], "float32"), np.array(given["y"])
    adversarial, calls, not_finite = attacks.FGSM(given["epsilon"]).perturb(network, x, y, None)
    # the gradient of the last column is 0 only in exact arithmetic
    np.testing.assert_allclose(
        adversarial[:, :3], np.array(found["expected"]["x_adversarial"])[:, :3], **CLOSE
    )
    assert (calls, not_finite) == (2, 0)


class Drawn:
    """Random generator that returns given values."""

    def __init__(self, values):
        self.values = np.array(values)

    def uniform(self, low, high, size):
        assert self.values.shape == size and np.abs(self.values).max() <= high == -low
        return self.values


def test_pgd_of_the_golden_network():
    found = golden("pgd-linear-model", "seeds_p2")
    given = found["inputs"]
    network = Network(linear(given["kernel"], given["bias"]), None, 8)
    x, y = np.array(given["x"], "float32"), np.array(given["y"])
    iterates = np.array(found["expected"]["iterates"])
    for steps in range(1, given["steps"] + 1):
        attack = attacks.PGD(given["epsilon"], steps, step_size=given["alpha"])
        adversarial, calls, _ = attack.perturb(network, x, y, Drawn(given["start"]))
        np.testing.assert_allclose(adversarial, iterates[:, steps], **CLOSE)
        assert calls == 2 * steps


def test_the_ascent_that_networks_are_trained_by_takes_the_same_steps():
    x, y = examples(20)
    keras.utils.set_random_seed(4)
    layers = [keras.layers.Flatten(), keras.layers.Dense(9, "tanh"), keras.layers.Dense(4)]
    model = keras.Sequential([keras.Input((4, 4, 1)), *layers])
    measured, *_ = attacks.PGD(0.2, 10, step_size=0.05).perturb(
        Network(model, None, 32), x, y, Drawn(np.zeros(x.shape))
    )
    start = ops.convert_to_tensor(x)
    trained = _attacks.pgd(
        lambda point: robust.cross_entropy(y, model(point)), start, start, 0.2, 0.05, 10
    )
    np.testing.assert_allclose(measured, trained, rtol=0, atol=1e-6)


def test_reach_of_the_papers_protocol_and_of_our_step():
    found = golden("pgd-reach", "seeds_p2")
    given, expected = found["inputs"], found["expected"]
    epsilon = given["epsilon"]
    _, *weak = attacks.protocol_paper(epsilon, given["steps"])
    reach = [one.steps * one.step / epsilon for one in weak]
    np.testing.assert_allclose(reach, expected["reach_over_epsilon"], rtol=1e-9)
    ours = [attacks.PGD(epsilon, steps).step for steps in given["steps"]]
    np.testing.assert_allclose(ours, expected["alpha_2p5_eps_over_steps"], rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "attack",
    [
        attacks.FGSM(0.2),
        attacks.PGD(0.2, 3),
        attacks.PGD(0.2, 3, loss="margin", probabilities=True),
        attacks.APGD(0.2, 5, loss="dlr"),
        attacks.APGD(0.2, 5, source="cosine"),
        attacks.TargetedAPGD(0.2, 3, targets=3),
        attacks.SquareAPGD(0.2, queries=9, steps=5),
        attacks.Square(0.2, queries=30),
    ],
    ids=lambda attack: attack.name,
)
def test_examples_stay_in_the_ball_and_the_bounds(trained, attack, rng):
    x, y = examples(11)
    adversarial, *_ = attack.perturb(Network(trained, "sim", 8), x, y, rng)
    assert adversarial.shape == x.shape and adversarial.dtype == np.float32
    assert np.abs(adversarial - x).max() <= 0.2 + 1e-6
    assert adversarial.min() >= 0 and adversarial.max() <= 1


def test_attacks_have_different_names():
    assert [
        one.name
        for one in (
            attacks.FGSM(0.3),
            attacks.PGD(0.3, 100, restarts=10),
            attacks.PGD(0.3, 40, loss="margin"),
            attacks.PGD(0.3, source="dol"),
            attacks.Square(0.3, 500),
            attacks.APGD(0.3, restarts=5, loss="margin", source="cosine"),
            attacks.TargetedAPGD(0.3),
            attacks.SquareAPGD(0.3, restarts=3),
            *attacks.protocol_paper(0.3, (40,)),
        )
    ] == [
        "FGSM",
        "PGD-100 x 10",
        "PGD-40 margin",
        "PGD-40 from dol",
        "Square-500",
        "APGD-100 x 5 margin from cosine",
        "APGD-100 to 9 targets",
        "Square-500 + APGD-100 x 3 margin",
        "FGSM (weak)",
        "PGD-40 (weak)",
    ]


# ---- several attacks --------------------------------------------------------------------------


class Scripted:
    """Attack whose outcome is given for each example.

    The first number of an input is its row divided by 10. The second number says whether the input
    is classified correctly.
    """

    source = None

    def __init__(self, name, outcomes):
        self.name, self.outcomes, self.restarts = name, outcomes, len(outcomes)
        self.asked = []

    def perturb(self, network, x, y, rng):
        rows = np.round(10 * x[:, 0]).astype(int)
        adversarial = x.copy()
        adversarial[:, 1] = np.array(self.outcomes[len(self.asked)])[rows]
        self.asked.append(rows.tolist())
        return adversarial, len(x), 1


def scripted(clean):
    """Returns a network for the attack `Scripted`, and inputs with labels."""
    x = np.stack([np.arange(len(clean)) / 10, clean], axis=1).astype("float32")
    return linear([[0.0, 0.0], [0.0, 1.0]], [0.5, 0.0]), x, np.ones(len(clean), int)


def test_worst_case_over_attacks_and_restarts():
    found = golden("worst-case-over-attacks", "seeds_p2")
    given, expected = found["inputs"], found["expected"]
    scripts = [Scripted(*one) for one in given["correct_by_attack_and_restart"].items()]
    result = robustness(*scripted(given["clean_correct"]), scripts)
    assert result.clean_accuracy == pytest.approx(5 / 6)
    assert result.attacks["fgsm"].accuracy == pytest.approx(expected["fgsm"])
    assert result.attacks["pgd"].accuracy == pytest.approx(expected["pgd_two_restarts"])
    assert result.worst_case == pytest.approx(expected["worst_case"])
    np.testing.assert_array_equal(result.robust, np.array(expected["robust"], bool))
    # the second restart attacks the examples that the first restart did not break
    assert scripts[1].asked == [[0, 1, 2, 4, 5], [0, 1, 4]]
    assert result.attacks["pgd"].calls == 8 and result.attacks["pgd"].not_finite == 2


def test_figures_come_with_wilson_intervals_and_as_a_table():
    result = robustness(*scripted([1, 1, 1, 0]), [Scripted("one", [[1, 0, 1, 1]])])
    expected = stats.binomtest(2, 4).proportion_ci(method="wilson")
    assert result.worst_interval == pytest.approx((expected.low, expected.high))
    table = result.table()
    assert table["attack"] == ["clean", "one", "worst case"]
    assert table["accuracy"] == [0.75, 0.5, 0.5]
    assert table["calls"] == [0, 3, 3]
    assert "one: 50.00 % [15.00, 85.00]" in str(result)


@pytest.mark.slow
def test_the_union_is_below_each_attack_and_white_box_below_transfer(trained):
    x, y = examples()
    attack = attacks.PGD(0.15, 20)
    transfer = [attacks.PGD(0.15, 20, source=source) for source in ("dol", "cosine")]
    others = [attacks.APGD(0.15, 20, loss="dlr"), attacks.TargetedAPGD(0.15, 20, 3)]
    fgsm, square = attacks.FGSM(0.15), attacks.Square(0.15, queries=50)
    before = [np.array(one) for one in trained.get_weights()]
    found = robustness(trained, x, y, [fgsm, attack, *transfer, *others, square])
    for one in found.attacks.values():
        assert found.worst_case <= one.accuracy <= found.clean_accuracy
        assert not (found.robust & ~one.robust).any()
        assert not (one.robust & ~found.correct).any()
    robust = np.logical_and.reduce([one.robust for one in found.attacks.values()])
    np.testing.assert_array_equal(found.robust, robust)
    accuracies = {name: one.accuracy for name, one in found.attacks.items()}
    assert found.clean_accuracy > 0.9 and 0 < accuracies["PGD-20"] < 0.9
    assert accuracies["PGD-20"] <= accuracies["PGD-20 from dol"]
    assert accuracies["PGD-20 from cosine"] < found.clean_accuracy
    assert accuracies["PGD-20"] <= accuracies["FGSM"]
    for old, new in zip(before, trained.get_weights(), strict=True):  # includes the prototypes
        np.testing.assert_array_equal(old, new)


@pytest.mark.slow
def test_more_steps_and_restarts_never_help_the_network(trained):
    x, y = examples()
    counts = [(1, 1), (5, 1), (40, 1), (40, 3)]
    found = robustness(trained, x, y, [attacks.PGD(0.1, *one, restarts=n) for *one, n in counts])
    accuracies = [one.accuracy for one in found.attacks.values()]
    for less, more in zip(accuracies, accuracies[1:], strict=False):
        assert more <= less + 1 / 60
    assert found.attacks["PGD-40 x 3"].calls <= 40 * 3 * 60


@pytest.mark.slow
def test_with_epsilon_1_no_example_is_robust(trained):
    found = robustness(trained, *examples(), [attacks.PGD(1.0, 20, restarts=2)])
    assert found.worst_case == 0


@pytest.mark.slow
def test_each_head_is_attacked_separately(trained):
    x, y = examples(12)
    for head in ("sim", "dol"):
        found = robustness(trained, x, y, [attacks.PGD(0.1, 3)], head=head)
        right = np.argmax(trained.scores(x, head), axis=1) == y
        np.testing.assert_array_equal(found.correct, right)
        assert found.head == head


def test_gradients_that_are_not_finite_are_counted_and_set_to_0():
    class Broken(keras.Model):
        def call(self, inputs, training=False):
            root = ops.sqrt(inputs - inputs[:, :1])  # its gradient at 0 is infinite
            return ops.concatenate([root[:, :1] + 1, inputs[:, 1:2]], axis=1)

    x = np.full((3, 2), 0.5, "float32")
    found = robustness(Broken(), x, np.zeros(3, int), [attacks.FGSM(0.1)])
    assert found.attacks["FGSM"].not_finite > 0
    assert found.worst_case == 1


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures_and_another_may_not(trained):
    x, y = examples()
    chosen = [attacks.PGD(0.12, 2), attacks.APGD(0.12, 3), attacks.Square(0.12, 9)]
    first, again = (robustness(trained, x, y, chosen, seed=1) for _ in range(2))
    for one in chosen:
        np.testing.assert_array_equal(
            first.attacks[one.name].robust, again.attacks[one.name].robust
        )
    starts = []
    for seed in (1, 2):

        class Recorded(Scripted):
            def perturb(self, network, x, y, rng):
                starts.append(rng.random())
                return x, 1, 0

        robustness(trained, x, y, [Recorded("one", [0])], seed=seed)
    assert starts[0] != starts[1]


def test_a_stopped_run_resumes_from_its_checkpoint(tmp_path):
    class Stopped(Scripted):
        def perturb(self, *arguments):
            if len(self.asked) == 1:
                raise KeyboardInterrupt
            return super().perturb(*arguments)

        def __repr__(self):
            return self.name

    class Whole(Stopped):
        perturb = Scripted.perturb

    given, out = scripted([1, 1, 1, 1]), tmp_path / "made" / "robustness.npz"
    outcomes = [[1, 0, 1, 1], [1, 1, 0, 1]]
    with pytest.raises(KeyboardInterrupt):
        robustness(*given, [Stopped("pgd", outcomes)], out=out)
    rest = Whole("pgd", outcomes)
    rest.asked = [None]  # the first restart is done
    found = robustness(*given, [rest], out=out)
    assert rest.asked == [None, [0, 2, 3]]
    np.testing.assert_array_equal(found.robust, [True, False, False, True])
    assert found.attacks["pgd"].calls == 7
    again = robustness(*given, [Whole("pgd", outcomes)], out=out)
    np.testing.assert_array_equal(again.robust, found.robust)
    assert [path.name for path in out.parent.iterdir()] == ["robustness.npz"]
    with pytest.raises(ValueError, match="another model"):
        robustness(*given, [Whole("pgd", outcomes)], out=out, seed=5)
    out.write_bytes(b"no archive")
    with pytest.raises(ValueError, match="damaged"):
        robustness(*given, [Whole("pgd", outcomes)], out=out)


def test_a_restart_resumes_at_the_batch_at_which_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_dml.evaluation._robustness.SECONDS_BETWEEN_CHECKPOINTS", -1)

    class Stopped(Scripted):
        def perturb(self, network, x, y, rng):
            if self.asked and self.stops:
                raise KeyboardInterrupt
            self.asked.append((np.round(10 * x[:, 0]).astype(int).tolist(), rng.random()))
            return x * [1, x[0, 0] < 0.3], len(x), 0  # the second batch is broken

        def __repr__(self):
            return self.name

    given, out = scripted([1, 1, 1, 1]), tmp_path / "robustness.npz"
    first, rest, whole = (Stopped("pgd", [None]) for _ in range(3))
    first.stops, rest.stops, whole.stops = True, False, False
    with pytest.raises(KeyboardInterrupt):
        robustness(*given, [first], batch_size=2, out=out)
    found = robustness(*given, [rest], batch_size=2, out=out)
    at_once = robustness(*given, [whole], batch_size=2)
    assert first.asked + rest.asked == whole.asked and len(whole.asked) == 2
    np.testing.assert_array_equal(found.robust, at_once.robust)
    assert found.attacks["pgd"].calls == 4


def test_an_empty_list_of_attacks_and_unknown_heads_are_refused(trained):
    x, y = examples(6)
    with pytest.raises(ValueError, match="`attacks` is empty. Pass at least one"):
        robustness(trained, x, y, [])
    with pytest.raises(ValueError, match="`head` must be one of .*head='cosine'"):
        robustness(trained, x, y, [attacks.FGSM(0.1)], head="cosine")
    with pytest.raises(ValueError, match="`source` must be one of .*source='softmax'"):
        robustness(trained, x, y, [attacks.FGSM(0.1, source="softmax")])


def test_progress_is_shown_per_restart(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "keras_dml.evaluation._robustness.track",
        lambda batches, description, total: shown.append((description, total)) or batches,
    )
    given = scripted([1, 1, 1])
    script = Scripted("one", [[1, 1, 1]] * 4)
    script.restarts = 2  # each restart has two batches
    robustness(*given, [script], batch_size=2, progress=True)
    assert shown == [("one, 1 of 2", 2), ("one, 2 of 2", 2)]


@pytest.mark.parametrize(
    "make, part",
    [
        (lambda: attacks.PGD(8.0), "8 of 255 gray levels, pass `8 / 255`"),
        (lambda: attacks.FGSM("8/255"), "8 of 255 gray levels, pass `8 / 255`"),
        (lambda: attacks.PGD(0.1, 0), "`steps` must be an integer"),
        (lambda: attacks.PGD(0.1, restarts=1.5), "`restarts` must be an integer"),
        (lambda: attacks.PGD(0.1, step_size=-1.0), "`step_size` must be above 0"),
        (lambda: attacks.FGSM(0.1, loss="hinge"), "`loss` must be one of"),
        (lambda: attacks.Square(0.1, 0), "`queries` must be an integer"),
        (lambda: attacks.APGD(0.1, loss="ce"), "`loss` must be one of"),
        (lambda: attacks.SquareAPGD(0.1, queries=0), "`queries` must be an integer"),
        (lambda: attacks.TargetedAPGD(0.1, targets=0), "`targets` must be an integer"),
    ],
)
def test_wrong_attacks_are_refused(make, part):
    with pytest.raises(ValueError, match=part):
        make()


def test_wrong_inputs_labels_and_lists_are_refused():
    model, x, y = scripted([1, 0, 1])
    fgsm = attacks.FGSM(0.1)
    for given, part in (
        ((x * 255, y, [fgsm]), "must lie in \\[0, 1\\]"),
        ((x.astype("uint8"), y, [fgsm]), "by 255"),
        ((x * np.nan, y, [fgsm]), "must lie in"),
        ((x[:0], y[:0], [fgsm]), "at least one example"),
        ((x, y[:2], [fgsm]), "one class id for each example"),
        ((x, y.astype(float), [fgsm]), "integers of at least 0"),
        ((x, y + 1, [fgsm]), "class ids from 0 to 1"),
        ((x, y, [fgsm, attacks.FGSM(0.2)]), "more than once: \\['FGSM'\\]"),
        ((x, y, [attacks.FGSM(0.1, source="dol")]), "only one output"),
    ):
        with pytest.raises(ValueError, match=part):
            robustness(model, *given)


def test_the_protocol_of_the_paper_has_the_steps_for_mnist():
    fgsm, *pgd = attacks.protocol_paper(0.3)
    assert isinstance(fgsm, attacks.FGSM) and fgsm.epsilon == 0.3
    assert [attack.steps for attack in pgd] == [40, 100]
    assert all("(weak)" in attack.name for attack in (fgsm, *pgd))
