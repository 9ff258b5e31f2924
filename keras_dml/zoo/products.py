"""Decides from the licenses on a model's card whether the model may be used in products."""

from typing import Any

YES, ASK, NO = "yes", "ask", "no"
# What a license of training data or of weights means for products, by its SPDX identifier.
# "LicenseRef" marks terms that have no SPDX identifier, and "NONE" means that no license is stated.
# A license that is not in this table means `ASK`.
LICENCES = {
    "Apache-2.0": YES,
    "CC-BY-4.0": YES,
    "CC0-1.0": YES,
    "MIT": YES,
    "CC-BY-SA-3.0": ASK,  # whether the weights must be shared under the same license is disputed
    "NONE": ASK,
    "CC-BY-NC-SA-4.0": NO,
    "LicenseRef-CC-BY-NC-SA": NO,  # no version is stated
    "LicenseRef-non-commercial": NO,
    "LicenseRef-research-only": NO,
}


def mark(card: dict[str, Any]) -> str:
    """Returns whether a model may be used in products.

    The strictest license in the list `data.licences` of the card determines the result. The result
    is not legal advice. It only repeats what the licenses state, and the entry `data.licence` of
    the card contains their conditions, such as naming the authors of the data.

    Args:
        card: Card of a model.

    Returns:
        `"yes"` if all licenses allow it, `"no"` if one license forbids it, and otherwise `"ask"`:
        ask the authors of the data, or a lawyer. Cards without licenses have the result `"ask"`.
    """
    marks = {LICENCES.get(licence, ASK) for licence in card["data"].get("licences", ("NONE",))}
    return next(each for each in (NO, ASK, YES) if each in marks)
