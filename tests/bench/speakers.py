"""Measures speaker verification by Resemblyzer, which was pretrained on thousands of speakers.

python -m tests.bench.speakers --resemblyzer /path/to/python

Resemblyzer is an alternative to the models of the zoo. By default, the script uses the trials of
the recipe `voice_logcov_lda`. With `--table`, the script uses the trials of `zoo.voice_table`. The
interpreter has Resemblyzer 0.1.4 (`pip install --no-deps resemblyzer`, and then `librosa
webrtcvad-wheels torch`, because two requirements of Resemblyzer have no wheel). Resemblyzer is
measured twice: on the original recordings, and on recordings that `zoo.speech` trimmed and set to
the same level.
"""

import pathlib
import subprocess
import tempfile
from typing import Annotated

import numpy as np
import typer

from keras_dml.evaluation import verification
from tests.bench import smoke as smoke_run
from zoo import speech, voices

SERVER = pathlib.Path(__file__).with_name("speaker_peer.py")


def embeddings(python, signals, kept="speech"):
    """Computes embeddings (unit vectors) with Resemblyzer, shape `(recordings, 256)`.

    Args:
        python: Interpreter that has Resemblyzer.
        signals: Recordings, shape `(samples, 1)`, 16 kHz.
        kept: `"speech"` if Resemblyzer removes silence, and `"whole"` if it does not.
    """
    samples = np.concatenate([signal[:, 0] for signal in signals])
    with tempfile.TemporaryDirectory() as folder:
        sounds, answers = pathlib.Path(folder, "sounds.npz"), pathlib.Path(folder, "answers.npy")
        np.savez(sounds, samples=samples, ends=np.cumsum([len(signal) for signal in signals]))
        subprocess.run([python, str(SERVER), str(sounds), str(answers), kept], check=True)
        return np.load(answers)


def score(python, out=pathlib.Path("build/resemblyzer_0")):
    """Writes the cosines of all trials of `zoo.voice_table`."""
    people = voices.everybody()
    first, second, _, fold = voices.trials(people, voices.folds(people.subjects))
    vectors = embeddings(python, people.signals)
    cosine = np.sum(vectors[first] * vectors[second], axis=1)
    out.mkdir(parents=True, exist_ok=True)
    np.savez(out / voices.SCORES, first=first, second=second, fold=fold, cosine=cosine)


def main(
    resemblyzer: Annotated[
        str | None, typer.Option(help="Interpreter that has Resemblyzer.")
    ] = None,
    bootstrap: Annotated[int, typer.Option(help="Replicates of the 95 % intervals.")] = 1000,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    table: Annotated[bool, typer.Option("--table", help="Score for `zoo.voice_table`.")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help=smoke_run.HELP)] = False,
):
    """Prints the equal error rate over the trials of all folds together, and the equal error rate
    of each fold.
    """
    if resemblyzer is None:
        smoke_run.skip(
            "speakers needs `--resemblyzer`, the interpreter of an environment that has "
            "Resemblyzer: pip install --no-deps resemblyzer; pip install librosa webrtcvad-wheels "
            "torch."
        )
    if smoke:
        noise = np.random.default_rng(0).normal(scale=0.1, size=(2, 32_000, 1)).astype("float32")
        print(f"embeddings {embeddings(resemblyzer, noise, 'whole').shape}")
        return
    if table:
        return score(resemblyzer)
    for title, prepare in (("as in the set", False), ("trimmed, one level", True)):
        people = speech.utterances(prepare)
        first, second, genuine, fold = speech.trials(people.subjects, speech.folds(people.subjects))
        vectors = embeddings(resemblyzer, people.signals)
        distances = 1 - np.sum(vectors[first] * vectors[second], axis=1)
        names = np.asarray(people.subjects)
        claims = (names[first], names[second])
        print(f"Resemblyzer, cosine, recordings {title}:")
        print(verification(distances, genuine, people=claims, bootstrap=bootstrap, seed=seed))
        rates = [
            verification(distances[fold == k], genuine[fold == k]).eer for k in np.unique(fold)
        ]
        print("EER of each fold: " + ", ".join(f"{100 * rate:.1f} %" for rate in rates))


if __name__ == "__main__":
    typer.run(main)
