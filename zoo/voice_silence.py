"""Measures the error rates of the voice models on recordings to which silence is added.

The module writes `zoo/voice_silence.md`.

Run `python -m zoo.voice_silence voice_ge2e_sim voice_logcov_lda voice_xvector_sim` from the
checkout. With `--older FOLDER` the files `FOLDER/NAME.keras` are measured instead of the published
files.
"""

import json
import pathlib
import zlib
from typing import Annotated

import numpy as np
import typer

from keras_dml import evaluation, inference, zoo
from keras_dml._files import write_text
from keras_dml.training import page, write_json
from zoo import speech, telephone, voice_classifiers, voices

SECONDS = (3, 10, 30)
PLACES = ("before", "after", "within")
KINDS = ("zeros", "noise 40 dB below the speech")
NOISE_DB = -40.0  # relative to the tenth loudest block of 20 ms
LOUD_BLOCKS = 10
BOOTSTRAP = 1000
PUBLISHED, OLDER = "published", "older"
RESULTS = pathlib.Path("build") / "voice_silence"
PAGE = pathlib.Path(__file__).with_name("voice_silence.md")
TEXT = """# Voices with silence

<!-- Written by `python -m zoo.voice_silence`. -->

Each probe is a recording of a test person, with added silence before, after or within the speech.
The test people are named on the card of each model. The enrolled recording has no added silence.
The trials and the preparation of recordings are the same as for the main result on the card. The
table contains equal error rates with 95 % intervals over people. The silence consists of zeros or
of white noise. The noise is 40 dB below the frame of 20 ms that is the tenth loudest frame of the
recording. The error rates in the column "without the layer, before" are for silence before the
speech. They were measured with an earlier model file, which has no layer
`keras_dml.layers.SilenceRemoval`.

{table}

The layers after `SilenceRemoval` have the same weights as in the earlier file. `SilenceRemoval`
also removes the silence that the recordings already have at both ends and in pauses of more than
0.6 s. Therefore the layer raises the error rates of recordings without added silence. The first two
rates in each row "none" show this increase. The layer does not remove music, other voices, or noise
that is less than 20 dB below the speech.

```
python -m zoo.voice_silence voice_ge2e_sim voice_logcov_lda voice_xvector_sim
python -m zoo.voice_silence voice_ge2e_sim voice_logcov_lda voice_xvector_sim --older FOLDER
```
"""

Names = Annotated[list[str], typer.Argument(help="Voice models of the zoo.")]
Older = Annotated[
    pathlib.Path | None,
    typer.Option(help="Folder with files NAME.keras to measure instead of the published files."),
]


def test_people(name):
    """Returns the test people of a model and their trials. The recordings are prepared in the same
    way as for the model's card.

    Args:
        name: Name of a voice model.
    """
    if name == "voice_logcov_lda":
        callers = telephone.lines(prepare=True)
        return callers, voices.trials(callers, (tuple(sorted(set(callers.subjects))),))
    return voices.of_test(voices.everybody(prepare=name == "voice_xvector_sim"))


def insert_silence(sound, kind, seconds, place):
    """Inserts silence before a recording, after it, or in its middle.

    Args:
        sound: Shape `(samples, 1)`.
        kind: One of `KINDS`.
        seconds: Length of the silence in seconds.
        place: One of `PLACES`.
    """
    steps = seconds * speech.RATE_HZ
    silence = np.zeros((steps, 1), np.float32)
    if kind != "zeros":
        seed = zlib.crc32(np.ascontiguousarray(sound).tobytes())  # each recording has its own noise
        noise = np.random.default_rng(seed).standard_normal((steps, 1))
        silence = (level(sound) * 10 ** (NOISE_DB / 20) * noise).astype(np.float32)
    cut = {"before": 0, "after": len(sound), "within": len(sound) // 2}[place]
    return np.concatenate([sound[:cut], silence, sound[cut:]])


def level(sound):
    """Computes the root mean square of the tenth loudest block in a recording. Blocks have a length
    of 20 ms.
    """
    blocks = sound[: len(sound) // speech.BLOCK * speech.BLOCK].reshape(-1, speech.BLOCK)
    power = np.sort(np.square(blocks, dtype=np.float64).mean(axis=1))
    return np.sqrt(power[-min(LOUD_BLOCKS, len(power))])


def measured(model, people, pairs, places):
    """Measures a model on recordings without added silence and with each kind of silence.

    Args:
        model: A `PrototypicalClassifier`.
        people: `People` with the recordings that the trials compare.
        pairs: Output of `voices.trials`.
        places: Places of the silence, from `PLACES`.

    Returns:
        List of rows with the kind, the length and the place of the silence, the equal error rate,
        and its interval.
    """
    first, second = np.concatenate([pairs[:2], pairs[1::-1]], axis=1)
    genuine, subjects = np.tile(pairs[2], 2), np.asarray(people.subjects)

    def embedded(signals):
        return inference.embed(model, signals, voice_classifiers.AT_ONCE, progress=False)

    claimed = embedded(people.signals)
    conditions = [(None, 0, None)] + [
        (kind, seconds, place) for kind in KINDS for seconds in SECONDS for place in places
    ]
    rows = []
    for kind, seconds, place in conditions:
        probes = claimed
        if kind is not None:
            probes = embedded([insert_silence(x, kind, seconds, place) for x in people.signals])
        similarity = np.asarray(model.similarity(probes, claimed))[first, second]
        result = evaluation.verification(
            -similarity, genuine, people=(subjects[first], subjects[second]), bootstrap=BOOTSTRAP
        )
        interval = [float(end) for end in result.intervals["eer"]]
        rows.append(
            {"kind": kind, "seconds": seconds, "place": place, "eer": result.eer, "ci95": interval}
        )
        print(f"{kind}, {seconds} s {place}: {_rate(rows[-1])}", flush=True)
    return rows


def table(results):
    """Returns the table that the page contains.

    Args:
        results: `results[name][version]` contains the rows of `measured`. The version is
            `PUBLISHED` or `OLDER`.
    """
    lines = []
    for name, versions in results.items():
        older = {_key(row): _rate(row) for row in versions.get(OLDER, ())}
        rates = {_key(row): _rate(row) for row in versions.get(PUBLISHED, ())}
        lines.append((f"`{name}`", "none", _of(older), *(_of(rates), "", "")))
        lines += [
            (
                f"`{name}`",
                f"{kind}, {seconds} s",
                older.get((kind, seconds, "before"), "–"),
                *(rates.get((kind, seconds, place), "–") for place in PLACES),
            )
            for kind in KINDS
            for seconds in SECONDS
        ]
    heads = ("model", "silence", "without the layer, before", *PLACES)
    return page.markdown_table(heads, lines)


def _of(rates):
    return rates.get((None, 0, None), "–")


def _key(row):
    return row["kind"], row["seconds"], row["place"]


def _rate(row):
    low, high = row["ci95"]
    return f"{100 * row['eer']:.1f} % [{100 * low:.1f} to {100 * high:.1f}]"


def main(names: Names, older: Older = None):
    """Measures voice models on recordings with added silence. Writes a page with the results of
    these models and of all models that were measured earlier.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    for name in names:
        model = zoo.load(name if older is None else older / f"{name}.keras")
        people, pairs = test_people(name)
        places = PLACES if older is None else PLACES[:1]
        version = PUBLISHED if older is None else OLDER
        print(f"{name}, {version}", flush=True)
        write_json(RESULTS / f"{name}_{version}.json", measured(model, people, pairs, places))
    results = {}
    for name in sorted(zoo.list_models()):
        for version in (OLDER, PUBLISHED):
            path = RESULTS / f"{name}_{version}.json"
            if path.exists():
                rows = json.loads(path.read_text(encoding="utf-8"))
                results.setdefault(name, {})[version] = rows
    write_text(PAGE, TEXT.format(table=table(results)))
    print(PAGE)


if __name__ == "__main__":
    typer.run(main)
