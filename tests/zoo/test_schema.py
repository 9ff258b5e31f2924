"""Tests the required keys and values of a card."""

import re

import pytest

from keras_dml.zoo import schema


@pytest.fixture
def whole(card):
    card["model"] = {"file": "model.keras", "sha256": "0" * 64, "parameters": 7}
    card["embedding"] = {"shape": [65, 18], "distance": "wasserstein", "p": 1}
    card["golden"] = {"input": "golden.npz", "atol": 1e-5}
    card["exports"] = [
        {
            "format": "tflite",
            "quantization": "int8",
            "bytes": 1,
            "latency_ms": 0.5,
            "drift": 0.0,
            "auc_change": -0.001,
        }
    ]
    return card


@pytest.fixture
def of_images(whole, images_card):
    made = {key: whole[key] for key in ("model", "golden", "exports")}
    del made["exports"][0]["auc_change"]
    made["exports"][0]["accuracy_change"] = -0.002
    return {
        **images_card,
        **made,
        "embedding": {"shape": [5], "distance": "learned_similarity", "symmetry": "none"},
    }


def test_a_card_names_a_known_scoring_and_its_rivals(whole):
    rival = whole["baselines"][0]
    whole["scoring"] = {"name": "mean", "choice": "chosen on other people", "rivals": [rival]}
    whole["thresholds"][0]["scoring"] = "mean"
    assert not schema.problems(whole)
    whole["scoring"]["name"] = "plda"
    (problem,) = schema.problems(whole)
    assert "scoring.name" in problem and "nearest, mean, two_covariance" in problem


def leaves(value, path=()):
    """Yields the paths of all entries of a nested card."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        yield (*path, key)
        if isinstance(part, (dict, list)):
            yield from leaves(part, (*path, key))


def test_a_whole_card_is_valid_with_further_keys(whole):
    assert schema.problems({**whole, "note": "of one's own"}) == []
    assert schema.validate(whole, "card.json") is whole


def test_a_threshold_may_have_a_certificate(whole):
    row = whole["thresholds"][0]
    row["certificate"] = {"ci95": [0.0, 0.02], "independent": 90.5, "strictest": 0.033}
    assert schema.problems(whole) == ["card.thresholds[0].certificate.people_needed is missing"]
    row["certificate"]["people_needed"] = {"0.01": 120}
    assert schema.problems(whole) == []


def test_a_headline_has_a_metric_to_compare_by(whole):
    whole["headline"]["rows"] = [{"metric": "auc", "value": 0.9, "ci95": [0.8, 1.0]}]
    whole["baselines"][0]["difference"]["metric"] = "map"
    assert schema.problems(whole) == [
        "card.headline.rows must contain the metric eer or accuracy",
        "card.baselines[0].difference.metric must be the metric of one of the baseline's rows",
    ]


def test_a_card_of_images_needs_no_people_rate_or_length(of_images):
    assert schema.problems(of_images) == []


@pytest.mark.parametrize("key", [key for key in schema.CARD if not key.endswith("?")])
def test_a_missing_key_is_named(whole, key):
    del whole[key]
    assert schema.problems(whole) == [f"card.{key} is missing"]


@pytest.mark.parametrize("kind", ["whole", "of_images"])
def test_every_value_of_a_wrong_type_is_found(kind, request):
    whole = request.getfixturevalue(kind)
    for path in leaves(whole):
        if path == ("embedding", "symmetry"):  # of a distance's own
            continue
        *parents, key = path
        part = whole
        for parent in parents:
            part = part[parent]
        kept, part[key] = part[key], object()
        assert schema.problems(whole), path
        part[key] = kept
    assert schema.problems(whole) == []


@pytest.mark.parametrize(
    ("kind", "part", "key", "found"),
    [
        ("whole", "input", "rate_hz", "card.input.rate_hz is missing"),
        ("of_images", "input", "dtype", "card.input.dtype is missing"),
        ("whole", "data", "test_subjects", "card.data.test_subjects is missing"),
        ("of_images", "data", "split", "card.data.split is missing"),
        ("of_images", "data", "test_classes", "card.data.test_classes is missing"),
    ],
)
def test_missing_keys_refer_to_the_most_similar_alternative(kind, part, key, found, request):
    whole = request.getfixturevalue(kind)
    del whole[part][key]
    assert schema.problems(whole) == [found]


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("input", "units", ["g"], r"one entry per channel \(3\), but has 1"),
        ("input", "length", [0, None], "smallest length is at least 1"),
        ("input", "length", [9, 8], "smallest, largest"),
        ("embedding", "p", None, "order of the distance"),
        ("data", "test_subjects", ["ann"], "1 people in both train_subjects and test_subjects"),
        ("model", "file", "../model.keras", "name of a file"),
        ("model", "sha256", "0" * 63, "SHA-256"),
        ("model", "parameters", True, "whole number"),
        ("golden", "atol", 0, "card.golden.atol must be a number above 0"),
        ("golden", "atol", -1e-5, "card.golden.atol must be a number above 0"),
    ],
)
def test_a_contradiction_is_found(whole, part, key, value, message):
    whole[part][key] = value
    with pytest.raises(ValueError, match=message):
        schema.validate(whole, "card.json")


@pytest.mark.parametrize("size", [[28], [0, 28], [28, 28, 1]])
def test_a_size_that_is_none_is_found(of_images, size):
    of_images["input"]["size"] = size
    with pytest.raises(ValueError, match=r"card.input.size must be \[height, width\]"):
        schema.validate(of_images, "card.json")


def test_all_that_is_wrong_is_said_at_once(whole):
    del whole["task"]
    whole["limits"] = "none"
    with pytest.raises(ValueError, match="task is missing; card.limits must be a list"):
        schema.validate(whole, "card.json")


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), float("-inf"), 10**400, -(10**400)], ids=range(5)
)
@pytest.mark.parametrize("place", ["golden.atol", "recipe.minutes", "of_ones_own.list[1].key"])
def test_a_number_that_is_none_is_refused_wherever_it_stands(whole, value, place):
    whole["of_ones_own"] = {"list": [0, {"key": 0}]}
    part = whole["of_ones_own"]["list"][1] if "own" in place else whole[place.partition(".")[0]]
    part[place.rpartition(".")[2]] = value
    with pytest.raises(ValueError, match=f"card.{re.escape(place)} must be a finite number"):
        schema.validate(whole, "card.json")


def test_a_deep_card_is_no_recursion(whole):
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert schema.problems({**whole, "deep": deep}) == []


def test_an_interval_of_a_threshold_has_two_ends(whole):
    whole["thresholds"][0]["far_ci95"] = [0.1]
    assert schema.problems(whole) == ["card.thresholds[0].far_ci95 must be an interval [low, high]"]


def test_a_threshold_has_a_certificate_or_an_interval_of_its_rate(whole):
    del whole["thresholds"][0]["far_ci95"]
    assert schema.problems(whole) == ["card.thresholds[0] must contain certificate or far_ci95"]
    ends = {"ci95": [0.0, 0.03], "independent": 170, "strictest": 0.02, "people_needed": {}}
    whole["thresholds"][0]["certificate"] = ends
    assert schema.problems(whole) == []
