"""Measures published models again and rewrites their cards and pages. The model files do not
change.

Run `python -m zoo.measure gait_lda gait_qp_wl` from the checkout.
"""

from typing import Annotated

import typer

from keras_dml import training
from keras_dml.training.measure import headline_summary
from zoo import evidence, recipe

Names = Annotated[list[str], typer.Argument(help="Models of the zoo.")]


def main(names: Names):
    """Measures the files of published models, and writes the results, baselines and thresholds into
    the models' cards.
    """
    for name in names:
        card = evidence.of_published(name).card(recipe.about_model(name))
        training.update(evidence.folder(name), **card)
        print(f"{name}\n{headline_summary(card['headline'])}")
        for baseline in card["baselines"]:
            print(_line(baseline))


def _line(baseline):
    rows = ", ".join(f"{row['metric']} {row['value']:.4f}" for row in baseline["rows"])
    low, high = baseline["difference"]["ci95"]
    return f"  {baseline['name']}: {rows}; the model minus this method: {low:+.4f} to {high:+.4f}"


if __name__ == "__main__":
    typer.run(main)
