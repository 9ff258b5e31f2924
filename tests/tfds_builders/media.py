"""Functions that make small recordings of speech and images for tests.

The files in `dummy_data/` of the builders of speech and images come from these functions.
"""

import io
import pickle
import struct

import numpy as np
from PIL import Image

ACTORS = range(1, 7)
DOMAINS = {"art_painting": "jpg", "cartoon": "jpg", "photo": "jpg", "sketch": "png"}
CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")


def chunk(name, content):
    """Returns a chunk of a RIFF file."""
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def wav_file(samples, rate=48_000, bits=16, kind=1):
    """Returns a WAVE file with the chunks that RAVDESS files have.

    Args:
        samples: Samples, shape (time,) or (time, channels).
        rate: Samples per second.
        bits: Bits per sample that the header states.
        kind: Format code that the header states.
    """
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
    """Returns a quiet recording: silence, then noise from the random seed `seed`, then silence."""
    sound = np.random.default_rng(seed).integers(-900, 900, samples)
    sound[: samples // 4] = sound[-samples // 4 :] = 0
    return sound


def speech_name(actor, emotion=2, intensity=1, statement=1, repetition=1):
    return (
        f"Actor_{actor:02d}/03-01-{emotion:02d}-{intensity:02d}-{statement:02d}-"
        f"{repetition:02d}-{actor:02d}.wav"
    )


def speech_files(actors=ACTORS, repetitions=(1, 2)):
    """Returns the names and bytes of the files of a small RAVDESS archive."""
    return {
        speech_name(actor, repetition=repetition): wav_file(speech(10 * actor + repetition))
        for actor in actors
        for repetition in repetitions
    }


VOICES = {  # a woman and a man for each split
    "train": (1298697715, 1298636292),
    "validation": (1298653986, 1298636374),
    "test": (1298702043, 1298652406),
}


def line_name(letter, voice, line):
    folder = {"F": "female_audio", "M": "male_audio"}[letter]
    return f"{folder}/{letter}_{voice}/{voice}_{line}.wav"


def telephone_files(voices=VOICES, lines=(1, 2)):
    """Returns the names and bytes of a small archive of sentences read over the telephone."""
    return {
        line_name(letter, voice, line): wav_file(speech(voice + line, 200), rate=8_000)
        for pair in voices.values()
        for letter, voice in zip("FM", pair, strict=True)
        for line in lines
    }


def picture_file(seed=0, side=227, kind="jpg", mode="RGB"):
    """Returns an image of one color that contains a square of a second color."""
    colors = np.random.default_rng(seed).integers(0, 256, (2, len(mode)))
    pixels = np.broadcast_to(colors[0], (side, side, len(mode))).astype(np.uint8).copy()
    pixels[side // 4 : side // 2, side // 4 : side // 2] = colors[1]
    out = io.BytesIO()
    picture = Image.fromarray(pixels[..., 0] if len(mode) == 1 else pixels)
    picture.save(out, {"jpg": "JPEG", "png": "PNG"}[kind])
    return out.getvalue()


def pacs_files(images=3, root="PACS/", domains=DOMAINS, classes=CLASSES):
    """Returns the names and bytes of a small PACS archive. File names repeat across folders."""
    return {
        f"{root}{domain}/{kind}/pic_{number:03d}.{domains[domain]}": picture_file(
            seed=1000 * at + 10 * label + number, kind=domains[domain]
        )
        for at, domain in enumerate(domains)
        for label, kind in enumerate(classes)
        for number in range(images)
    }


SPEAKERS = {  # cells of the table of VoxCeleb1; VoxCeleb2 has no name and country
    "id10001": ("Ada_A.", "f", "Norway", "dev"),
    "id10002": ("Ben_B", "m", "Chile", "dev"),
    "id10003": ("Cleo_C", "f", "USA", "dev"),
    "id10004": ("Dan_D", "m", "UK", "dev"),
    "id10270": ("Eve_E", "f", "Ghana", "test"),
    "id10271": ("Finn_F", "m", "Japan", "test"),
}
VIDEOS = ("-aaaaaaaaa_", "zzzzzzzzzz0")


def speaker_table(corpus="vox1", speakers=SPEAKERS):
    """Returns the table of the speakers, `vox1_meta.csv` or `vox2_meta.csv`."""
    if corpus == "vox1":
        head = ("VoxCeleb1 ID", "VGGFace1 ID", "Gender", "Nationality", "Set")
        rows = [(key, *cells) for key, cells in speakers.items()]
        lines = ["\t".join(row) for row in (head, *rows)]
    else:
        head = ("VoxCeleb2 ID", "VGGFace2 ID", "Gender", "Set")
        rows = [(key, f"n{key[2:]}", cells[1], cells[3]) for key, cells in speakers.items()]
        lines = [",".join(f"{cell} " for cell in row) for row in (head, *rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def voice_files(corpus="vox1", speakers=SPEAKERS, folder="voxceleb_verification/"):
    """Returns the names and bytes of the recordings and the table of a small VoxCeleb corpus.

    Each speaker has two recordings from the first video and one from the second video.
    """
    files = {f"{folder}{corpus}_meta.csv": speaker_table(corpus, speakers)}
    for at, speaker in enumerate(speakers):
        for place, (video, number) in enumerate([(VIDEOS[0], 1), (VIDEOS[0], 2), (VIDEOS[1], 1)]):
            name = f"{folder}{corpus}/wav/{speaker}/{video}/{number:05d}.wav"
            files[name] = wav_file(speech(3 * at + place, 200), rate=16_000)
    return files


def trial_list():
    """Returns a list of four trials. Trials 1 and 3 compare recordings of the same speaker."""
    a, b = (f"id1027{n}/{VIDEOS[0]}/00001.wav" for n in (0, 1))
    c, d = (f"id1027{n}/{VIDEOS[1]}/00001.wav" for n in (0, 1))
    return f"1 {a} {c}\n0 {a} {d}\n1 {b} {d}\n0 {b} {a}\n".encode()


WNIDS = {  # some classes of mini-ImageNet, for each of the three lists
    "train": ("n01532829", "n01558993", "n13133613"),
    "val": ("n01855672", "n09256479"),
    "test": ("n01930112", "n07613480"),
}


def ravi_name(wnid, number):
    return f"{wnid}{number:08d}.jpg"


def ravi_lists(wnids=WNIDS, images=2, folder="mini_imagenet_ravi/"):
    """Returns the three lists of images. As in the original lists, image numbers have gaps."""
    files = {}
    for name, ids in wnids.items():
        rows = [f"{ravi_name(wnid, 3 * n + 1)},{wnid}" for wnid in ids for n in range(images)]
        files[f"{folder}{name}.csv"] = "\n".join(["filename,label", *rows, ""]).encode()
    return files


def ravi_files(wnids=WNIDS, images=2, folder="mini_imagenet_ravi/"):
    """Returns the names and bytes of the lists and of images of 168 by 168 pixels.

    The builder has to reduce these images to 84 by 84 pixels.
    """
    files = ravi_lists(wnids, images, folder)
    for at, wnid in enumerate(wnid for ids in wnids.values() for wnid in ids):
        for n in range(images):
            name = f"{folder}images/{ravi_name(wnid, 3 * n + 1)}"
            files[name] = picture_file(100 * at + n, side=168)
    return files


def ravi_pixels(count, side=84):
    """Returns `count` images, each with a single color."""
    colors = np.random.default_rng(count).integers(0, 256, (count, 1, 1, 3), np.uint8)
    return np.broadcast_to(colors, (count, side, side, 3)).copy()


def ravi_cache(wnids, side=84):
    """Returns a pickle with two images per class.

    Image n belongs to class n modulo the number of classes.
    """
    count = len(wnids)
    places = {wnid: [at, at + count] for at, wnid in enumerate(wnids)}
    held = {"image_data": ravi_pixels(2 * count, side), "class_dict": places}
    return pickle.dumps(held, protocol=2)
