"""Hand-made sounds and pictures; `dummy_data/` of their builders was made with them too."""

import io
import struct

import numpy as np
from PIL import Image

ACTORS = range(1, 7)
DOMAINS = {"art_painting": "jpg", "cartoon": "jpg", "photo": "jpg", "sketch": "png"}
CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")


def chunk(name, content):
    """A chunk of a RIFF file."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def wav_file(samples, rate=48_000, bits=16, kind=1):
    """A WAVE file with the chunks of RAVDESS; samples of shape (time,) or (time, channels)."""
    samples = np.asarray(samples, "<i2")
    channels = samples.shape[1] if samples.ndim == 2 else 1
    frame = channels * bits // 8
    form = struct.pack("<HHIIHH", kind, channels, rate, rate * frame, frame, bits)
    body = b"".join(
        [
            chunk(b"fmt ", form),
            chunk(b"FLLR", bytes(100)),
            chunk(b"data", samples.tobytes()),
            chunk(b"LIST", b"INFOISFT" + b"\4\0\0\0Lab\0"),
            chunk(b"bext", bytes(20)),
            chunk(b"_PMX", b"<x:xmpmeta/>"),
        ]
    )
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


def speech(seed, samples=300):
    """A quiet recording: silence, noise of that seed, silence."""
    sound = np.random.default_rng(seed).integers(-900, 900, samples)
    sound[: samples // 4] = sound[-samples // 4 :] = 0
    return sound


def speech_name(actor, emotion=2, intensity=1, statement=1, repetition=1):
    return (
        f"Actor_{actor:02d}/03-01-{emotion:02d}-{intensity:02d}-{statement:02d}-"
        f"{repetition:02d}-{actor:02d}.wav"
    )


def speech_files(actors=ACTORS, repetitions=(1, 2)):
    """Names and bytes of a small archive of speech."""
    return {
        speech_name(actor, repetition=repetition): wav_file(speech(10 * actor + repetition))
        for actor in actors
        for repetition in repetitions
    }


VOICES = {  # by split: women and men
    "train": (1298697715, 1298636292),
    "validation": (1298653986, 1298636374),
    "test": (1298702043, 1298652406),
}


def line_name(letter, voice, line):
    folder = {"F": "female_audio", "M": "male_audio"}[letter]
    return f"{folder}/{letter}_{voice}/{voice}_{line}.wav"


def telephone_files(voices=VOICES, lines=(1, 2)):
    """Names and bytes of a small archive of lines read over the telephone."""
    return {
        line_name(letter, voice, line): wav_file(speech(voice + line, 200), rate=8_000)
        for pair in voices.values()
        for letter, voice in zip("FM", pair, strict=True)
        for line in lines
    }


def picture_file(seed=0, side=227, kind="jpg", mode="RGB"):
    """A picture of one color with a square of another."""
    colors = np.random.default_rng(seed).integers(0, 256, (2, len(mode)))
    pixels = np.broadcast_to(colors[0], (side, side, len(mode))).astype(np.uint8).copy()
    pixels[side // 4 : side // 2, side // 4 : side // 2] = colors[1]
    out = io.BytesIO()
    picture = Image.fromarray(pixels[..., 0] if len(mode) == 1 else pixels)
    picture.save(out, {"jpg": "JPEG", "png": "PNG"}[kind])
    return out.getvalue()


def pacs_files(images=3, root="PACS/", domains=DOMAINS, classes=CLASSES):
    """Names and bytes of a small archive of pictures; file names repeat from folder to folder."""
    return {
        f"{root}{domain}/{kind}/pic_{number:03d}.{domains[domain]}": picture_file(
            seed=1000 * at + 10 * label + number, kind=domains[domain]
        )
        for at, domain in enumerate(domains)
        for label, kind in enumerate(classes)
        for number in range(images)
    }
