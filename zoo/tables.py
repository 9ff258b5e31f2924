"""Writes the two tables of models on the project's page from the models' cards:
`python -m zoo.tables`, after a model was published."""

import pathlib

from keras_dml import zoo
from keras_dml._files import write_text
from zoo import readme

PAGE = pathlib.Path(__file__).resolve().parent.parent / "README.md"
ENCODERS = ("gait_qp_wl", "eeg_qp_wl", "eeg_spdnet_rpl", "hdm05_spdnet_rpl", "vowels_qp_wl")
CLASSIFIERS = (
    "mnist_proto_sim",
    "mnist_proto_sim_at",
    "omniglot_proto_sim",
    "speech_xvector_sim",
    "cifar10_proto_sim",
    "pacs_proto_sim",
)
TABLES = {readme.overview: ENCODERS, readme.overview_of_classifiers: CLASSIFIERS}


def written(text):
    """A page with its tables made anew.

    Args:
        text: The page, in Markdown; each table stands where one with the same columns stood.
    """
    for overview, names in TABLES.items():
        table = overview([zoo.card(name) for name in names])
        start = text.index(table.partition("\n")[0])
        end = text.index("\n\n", start)
        text = text[:start] + table + text[end:]
    return text


if __name__ == "__main__":
    write_text(PAGE, written(PAGE.read_text(encoding="utf-8")))
