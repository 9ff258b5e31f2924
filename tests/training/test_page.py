"""Tests that the page of a model formats values and tables correctly."""

import pytest

from keras_dml.training import page
from keras_dml.zoo import catalog
from tests.zoo.cards import CARD, IMAGES


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        ("auc", "0.9123 ± 0.0123"),
        ("eer", "91.2 % ± 1.2"),
        ("tar_at_far_0.01", "91.2 % ± 1.2"),
        ("map_at_r", "0.9123 ± 0.012"),
    ],
)
def test_rates_are_in_percent_and_other_figures_are_fractions(metric, text):
    row = {"metric": metric, "value": 0.91234, "stderr": 0.01234}
    assert catalog.value_in_words(row) == text


@pytest.mark.parametrize(
    ("metric", "text"), [("auc", "0.9123 [0.8500 to 0.9400]"), ("eer", "91.2 % [85.0 to 94.0]")]
)
def test_an_interval_replaces_the_standard_error(metric, text):
    row = {"metric": metric, "value": 0.91234, "stderr": 0.01234, "ci95": [0.85, 0.94]}
    assert catalog.value_in_words(row) == text


def test_small_errors_keep_a_digit_and_zeros_have_no_minus():
    row = {"metric": "auc", "value": 0.999672, "stderr": 0.000031}
    assert catalog.value_in_words(row) == "0.99967 ± 0.00003"
    assert catalog.change_in_words({"auc_change": -0.00001}) == "+0.0000"
    assert catalog.change_in_words({"accuracy_change": -0.00012}) == "-0.0001"


def test_a_table_has_one_line_per_row():
    assert page.markdown_table(("a", "b"), [(1, "x")]) == "| a | b |\n| --- | --- |\n| 1 | x |"


def test_columns_that_no_row_fills_are_left_out():
    row = {"protocol": "p", "n": 1, "metric": "eer", "value": 0.1, "stderr": 0.01, "trials": 1000}
    table = page.figures({"headline": {}, "figures": [row]})
    assert table.splitlines()[0] == "| protocol | n | metric | value ± standard error | trials |"
    table = page.figures({"headline": {}, "figures": [row | {"people": 7}]})
    assert table.splitlines()[2] == "| p | 1 | EER | 10.0 % ± 1.0 | 7 | 1,000 |"


def test_changes_by_distance_and_by_file_are_separate():
    row = {"format": "tflite", "bytes": 1, "latency_ms": 1.0, "drift": 1e-5, "auc_change": 0.0001}
    assert "thresholds" not in page.exports({"thresholds": [], "exports": [row]})
    moved = {"thresholds": [], "exports": [row | {"change_of_distance": 0.0214}]}
    section = page.exports(moved)
    assert "+0.0001" in section and "log-Euclidean distance changes the AUC by +0.0214" in section
    assert "thresholds" not in section
    assert "thresholds above do not apply to TFLite files" in page.exports(
        {**moved, "thresholds": [{}]}
    )


def test_a_threshold_gives_the_supported_rates():
    found = {"ci95": [0.002, 0.031], "independent": 170.4, "strictest": 3 / 170.4}
    row = {
        **CARD["thresholds"][0],
        "certificate": {**found, "people_needed": {"0.001": [134, 6000]}},
    }
    card = {**CARD, "embedding": {"distance": "euclidean"}}
    section = page.thresholds({**card, "thresholds": [row]})
    assert (
        "The threshold for a FAR of 1 % was set with the trials of 36 people. These trials carry "
        "as much information as 170 independent pairs of people. For a new group of 36 people, the "
        "95 % confidence interval of the FAR is 0.2 to 3.1 %. With 36 people, the lowest FAR for "
        "which a threshold can be set is 1.8 %. For a threshold at a FAR of 0.1 %, 134 people may "
        "be enough, and 6,000 people are always enough."
    ) in section
    assert "independent pairs" not in page.thresholds(card)
    assert "use the larger estimate" not in section
    assert "| 0.2 to 3.1 % |" in section and "| 0.5 to 2.0 % |" not in section
    assert "| 0.5 to 2.0 % |" in page.thresholds(card)  # the row has no certificate


def test_a_page_gives_the_rates_of_repeated_tries():
    tries = {"tries": 3, "far": 0.021, "far_ci95": [0.01, 0.05], "far_once": 0.009}
    tries |= {"tar": 0.98, "tar_ci95": [0.9, 1.0], "tar_once": 0.91, "people": 14, "pairs": 1056}
    card = {**CARD, "embedding": {"distance": "euclidean"}}
    assert "3 times" not in page.thresholds(card)
    row = CARD["thresholds"][0] | {"best_of_tries": tries}
    section = page.thresholds({**card, "thresholds": [row]})
    assert "may try 3 times" in section and "14 people, and the FAR on 1,056 pairs" in section
    assert "| 1 % | 0.9 % | 2.1 % [1.0 to 5.0] | 91.0 % | 98.0 % [90.0 to 100.0] |" in section


def test_two_certificates_explain_which_number_to_use():
    found = {"ci95": [0.0, 0.03], "independent": 170, "strictest": 0.0176, "people_needed": {}}
    rows = [{**CARD["thresholds"][0], "certificate": found}] * 2
    card = {**CARD, "embedding": {"distance": "euclidean"}, "thresholds": rows}
    assert "use the larger estimate" in page.thresholds(card)


def test_a_rate_without_errors_has_the_bound_by_the_rule_of_three():
    row = {"protocol": "p", "n": 1, "metric": "eer", "value": 0.0, "stderr": 0.0, "trials": 17}
    table = page.figures({**IMAGES, "figures": [row, row | {"metric": "auc", "value": 1}]})
    first, second = table.splitlines()[-2:]
    assert first == "| p | 1 | EER | 0 %, at most 18 % | 17 |"
    assert second == "| p | 1 | AUC | 1 | 17 |"
    named = row | {"metric": "accuracy", "value": 1.0, "people": 39, "trials": 390}
    assert catalog.value_in_words(named) == "100 %, at least 92 %"
    assert catalog.value_in_words(row | {"value": 0.25}) == "25 %"


def test_a_difference_of_two_heads_is_not_named_a_head():
    row = {"head": "sim less cosine", "metric": "eer", "value": -0.0231, "stderr": 0.0031}
    assert catalog.setting(row) == "sim less cosine"
    assert catalog.setting({"head": "sim"}) == "sim head"


def test_sessions_of_one_day_are_named_blocks():
    row = CARD["figures"][0] | {"protocol": "session_verification"}
    days = CARD["headline"] | {"repeats": "days"}
    assert "| block verification |" in page.figures({**CARD, "figures": [row]})
    table = page.figures({**CARD, "headline": days, "figures": [row]})
    assert "| session verification |" in table


def test_the_section_on_refusals_has_the_counts_the_worst_groups_and_the_attacks():
    assert page.scrutiny(CARD) == ""
    rates = {"frr_ci95": [0.0, 0.3], "far_ci95": [0.0, 0.1], "trials": 600}
    rows = [
        {"group": "patients", "people": 9, "frr": 0.25, "far": 0.01, **rates},
        {"group": "others", "people": 8, "frr": 0.125, "far": 0.05, **rates},
    ]
    entries = {
        "refused": {"refused": 3, "recordings": 200},
        "groups": [{"attribute": "health", "far": 0.01, "rows": rows}],
        "attacks": {"measured": "Casual claims.", "not_measured": "Imitation."},
    }
    section = page.scrutiny(CARD | entries)
    assert "3 of 200 test recordings (1.5 %)" in section
    assert "highest FRR is patients" in section and "highest FAR is others" in section
    assert "| patients | 9 | 25.0 % [0.0 to 30.0] | 1.0 % [0.0 to 10.0] | 600 |" in section
    assert section.endswith("Measured: Casual claims. Not measured: Imitation.")
    nothing = page.scrutiny(CARD | {"refused": {"refused": 0, "recordings": 300}})
    assert "none of 300 test recordings (at most 1.0 %" in nothing
