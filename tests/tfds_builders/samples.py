"""Functions that make small files in the formats of the builders for tests.

The files in `dummy_data/` of the builders come from these functions.
"""

import gzip
import io
import json
import tarfile
import zipfile

from tfds_builders.hdm05_mocap.clips import TURNS
from tfds_builders.parsers import gait, smni, vowels

HIERARCHY = (
    "root lhipjoint rhipjoint lowerback", "lhipjoint lfemur", "lfemur ltibia", "ltibia lfoot",
    "lfoot ltoes", "rhipjoint rfemur", "rfemur rtibia", "rtibia rfoot", "rfoot rtoes",
    "lowerback upperback", "upperback thorax", "thorax lowerneck lclavicle rclavicle",
    "lowerneck upperneck", "upperneck head", "lclavicle lhumerus", "lhumerus lradius",
    "lradius lwrist", "lwrist lhand lthumb", "lhand lfingers", "rclavicle rhumerus",
    "rhumerus rradius", "rradius rwrist", "rwrist rhand rthumb", "rhand rfingers",
)  # fmt: skip


def gait_csv(rows=8, seed=0):
    """Returns a trial of `rows` samples whose column c of row r is (r + seed) / 10 + c."""
    body = [
        ",".join(f"{(row + seed) / 10 + column:.6e}" for column in range(16)) for row in range(rows)
    ]
    return ("\n".join([",".join(gait.CHANNELS), *body]) + "\n").encode()


def gait_json(subject=1, trial=1, **changed):
    """Returns the metadata of a trial as JSON with the keys of the official archive."""
    notes = {
        "Subject": subject, "Trial": trial, "Code": f"{subject}-{trial}", "Age": 70, "Gender": "F",
        "Height": 1.65, "Weight": 72, "BMI": 26.4, "Laterality": "Right", "Sensor": "TCon",
        "WalkedDistance": 10, "WalkingSpeed": 1.3, "PathologyGroup": "Neurological",
        "IsControl": "No",
        "LeftFootActivity": [[1, 3], [5, 7]], "RightFootActivity": [[2, 4]],
    }  # fmt: skip
    return json.dumps(notes | changed, indent=1).encode()


def gait_files(people=range(1, 11), trials=(1,), folder="GaitData/"):
    """Returns the names and bytes of the files of a small gait archive."""
    files = {}
    for person in people:
        for trial in trials:
            files[f"{folder}{person}-{trial}.csv"] = gait_csv(seed=100 * person + trial)
            files[f"{folder}{person}-{trial}.json"] = gait_json(person, trial)
    return files


def smni_trial(subject="co2a0000001", trial=0, condition="S1 obj ", channels=smni.CHANNELS):
    """Returns an EEG trial in which only the first electrode varies.

    The values of the first electrode depend on the sample and the trial. The last sample of the
    first electrode is the number of the person.
    """
    lines = [
        f"# {subject}.rd",
        f"# 120 trials, {len(channels)} chans, 416 samples 368 post_stim samples",
        "# 3.906000 msecs uV", f"# {condition}, trial {trial}",
    ]  # fmt: skip
    for index, channel in enumerate(channels):
        lines.append(f"# {channel} chan {index}")
        for sample in range(smni.SAMPLES):
            value = (sample * sample * (trial + 3) % 997 - 500) / 10 if index < 1 else index / 10
            if index == 0 and sample == smni.SAMPLES - 1:
                value = int(subject[4:]) % 1000
            lines.append(f"{trial} {channel} {sample} {value:.3f}")
    return ("\n".join(lines) + "\n").encode()


def smni_files(subjects, trials=range(6), folder="SMNI_CMI_TRAIN/", zipped=False):
    """Returns the names and bytes of the files of a small EEG archive."""
    files = {}
    for subject in subjects:
        for trial in trials:
            condition = ("S1 obj ", "S2 match ", "S2 nomatch")[trial % 3]
            content = smni_trial(subject, trial, condition)
            name = f"{folder}{subject}/{subject}.rd.{trial:03d}"
            files[name + ".gz" * zipped] = gzip.compress(content, mtime=0) if zipped else content
    return files


def vowel_blocks(sizes=(1,) * 9, frames=3, seed=0, closed=True):
    """Returns utterances in UCI's format. Each utterance is a block of `frames` lines.

    If `closed` is true, a line with twelve numbers 1.0 ends each block. If `closed` is false, an
    empty line ends each block.
    """
    text = ""
    for block in range(sum(sizes)):
        rows = [
            [round((block + frame + seed) / 10 + c, 1) for c in range(vowels.CHANNELS)]
            for frame in range(frames)
        ]
        text += "".join(" ".join(map(str, row)) + " \r\n" for row in rows)
        text += ("1.0 " * 12 if closed else "") + "\r\n"
    return text.encode()


def vowel_ts(speakers=range(1, 10), frames=3, seed=0):
    """Returns a .ts file with one utterance per speaker."""
    head = "#A comment\n@problemName JapaneseVowels\n@equalLength false\n@data\n"
    lines = [
        ":".join(
            ",".join(f"{(b + f + seed) / 10 + c:.1f}" for f in range(frames))
            for c in range(vowels.CHANNELS)
        )
        + f":{speaker}"
        for b, speaker in enumerate(speakers)
    ]
    return (head + "\n".join(lines) + "\n").encode()


def skeleton(bones=TURNS, hierarchy=HIERARCHY, length=0.45, axis="0 0 0"):
    """Returns an .asf file with a skeleton.

    Bone b, counted from 1, has a length of b / 10. The bones point along y, z and x in turn.
    """
    head = f"""# made by hand
:version 1.10
:name VICON
:units
  mass 1.0
  length {length}
  angle deg
:documentation
   none
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
"""
    blocks = []
    for number, (bone, turns) in enumerate(bones.items(), 1):
        direction = ("1 0 0", "0 1 0", "0 0 1")[number % 3]
        lines = [f"id {number} ", f"name {bone}", f"direction {direction} "]
        lines += [f"length {number / 10}  ", f"axis {axis}  XYZ"]
        if turns:
            lines.append("dof " + " ".join(f"r{turn}" for turn in turns))
            lines += ["limits (-160.0 20.0)", *["       (-70.0 70.0)"] * (len(turns) - 1)]
        blocks.append("\n".join(["  begin", *(f"     {line}" for line in lines), "  end\n"]))
    tree = "".join(f"    {line}\n" for line in hierarchy)
    text = head + "".join(blocks) + ":hierarchy\n  begin\n" + tree + "  end\n"
    return text.replace("\n", "\r\n").encode()


def motion(frames=3, bones=TURNS, seed=0):
    """Returns an .amc file with the oddities of HDM05.

    Lines with a frame number end in LF and all other lines in CR LF. A comment is in Latin-1, and
    exponents have three digits. Column c is almost 0 if c is a multiple of 5.
    """
    lines = [b"#!OML:ASF X:\\M\xfcller.ASF\r\n:FULLY-SPECIFIED\r\n:DEGREES\r\n"]
    for frame in range(1, frames + 1):
        lines.append(f"{frame}\n".encode())
        column = 0
        for part, turns in {"root": "......", **bones}.items():
            columns = range(column, column + len(turns))
            column += len(turns)
            words = [_angle(frame + seed, c) for c in columns]
            lines += [f"{part} {' '.join(words)}\r\n".encode()] * bool(turns)
    return b"".join(lines)


def _angle(frame, column):
    angle = (frame * frame * (column + 3) + 7 * column) % 61 - 30
    return f"{angle / 4:g}" if column % 5 else "9.64106e-015"


def mocap_files(actors=("bd", "mm"), motions=("squat1Reps",), takes=2, folder="HDM05_cut_amc/"):
    """Returns the names and bytes of a small motion capture archive.

    The name of the last clip of a motion ends in .AMC, all other names end in .amc.
    """
    files = {}
    for name in motions:
        for at, actor in enumerate(actors):
            files[f"{folder}{name}/HDM_{actor}.asf"] = skeleton(length=0.45 + at / 100)
            for take in range(1 + at * takes, 1 + (at + 1) * takes):
                last = at == len(actors) - 1 and take == (at + 1) * takes
                clip = (
                    f"{folder}{name}/HDM_{actor}_{name}_{take:03d}_120.{'AMC' if last else 'amc'}"
                )
                files[clip] = motion(frames=2 + take, seed=len(name) + take)
    return files


def tar(files, mode="w:xz"):
    """Returns the bytes of a tar archive of `files`, a dict from names to bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(files, compression=zipfile.ZIP_DEFLATED):
    """Returns the bytes of a zip archive of `files`, a dict from names to bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def write(folder, files):
    """Writes `files`, a dict from names to bytes, into a folder and returns the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder
