"""Hand-made gaze recordings; `dummy_data/` of their builders was made with them too."""

import io

import numpy as np
import scipy.io

from tests.tfds_builders.samples import zipped
from tfds_builders.findwho_gaze.fixations import COLUMNS

WATCHERS = ("AAA", "BBB", "C1C", "DDD", "EEE", "FFF", "GGG")
MOVIES = ("beach", "bridge_1")


def coord_file(seed=0, samples=12, first_us=1000):
    """A recording of GazeCom: every 4 ms, x rises by 2 and y falls by 0.5; the fourth sample is
    lost, and 40 ms pass before the last one."""
    lines = ["gaze 1280 720", "geometry distance 0.45 width 0.4 height 0.225"]
    for at in range(samples):
        time = first_us + 4000 * at + 40_000 * (at == samples - 1)
        x, y = (0, 0) if at == 3 else (600 + seed + 2 * at, 300 - at / 2)
        lines.append(f"{time} {x:g} {y:g} {int(at != 3)}")
    return ("\n".join(lines) + "\n").encode()


def coord_files(people=WATCHERS, movies=MOVIES, folder="gaze/natural_movies_gaze/"):
    """Names and bytes of a small archive of GazeCom."""
    return {
        f"{folder}{person}_{movie}.coord": coord_file(seed=10 * at + 3 * place)
        for at, person in enumerate(people)
        for place, movie in enumerate(movies)
    }


VIEWERS = tuple(f"diem{experiment}s{number}" for experiment in (2, 3) for number in range(1, 6))
FILMS = ("50_people_brooklyn_1280x720", "arctic_bears_1066x710")


def event_file(seed=0, frames=8):
    """A recording of DIEM: column c of frame f is f + c + seed; the third frame is lost, the fifth
    a saccade of the left eye, and the last frame holds the tracker's overflow."""
    lines = []
    for frame in range(1, frames + 1):
        left, right = (
            [f"{frame + seed + column:.1f}" for column in columns]
            for columns in ((1, 2, 3), (5, 6, 7))
        )
        if frame == 3:
            left = right = ["0", "0", "0.0"]
        if frame == frames:
            left[0] = "-3270.0"
        events = {3: (-1, 0), 5: (2, 1)}.get(frame, (1, 1))
        lines.append("\t".join([str(frame), *left, str(events[0]), *right, str(events[1])]))
    return ("\r\n".join(lines) + "\r\n").encode()


def event_name(subject, film, place=1, folder=""):
    """The name of a recording of DIEM."""
    return f"{folder}{film}/event_data/{subject}.asc_{place}_{film}.txt"


def event_files(people=VIEWERS, films=FILMS, folder=""):
    """Names and bytes of a small archive of DIEM; each person sees the films in order."""
    return {
        event_name(person, film, place, folder): event_file(seed=10 * at + place)
        for at, person in enumerate(people)
        for place, film in enumerate(films, 1)
    }


def fixation_rows(people=range(1, 7), videos=range(1, 7), count=3):
    """Rows of `fixdata`: fixation k of person p on video v begins at 400 k + p ms and is at
    x = 100 p + v; the last row names no person."""
    rows = [
        [person, video, 400 * k + person, 200 + k, 100 * person + video, 50 * k]
        for person in people
        for video in videos
        for k in range(count)
    ]
    return np.array([*rows, [0, 2, 19_545, 466, 873, 388]], np.uint16)


def mat_file(variables, packed=True):
    """A MATLAB 5 file as SciPy writes it, without the date in its header."""
    out = io.BytesIO()
    scipy.io.savemat(out, variables, do_compression=packed)
    return b"MATLAB 5.0 MAT-file".ljust(116) + out.getvalue()[116:]


def fixation_file(rows=None, fields=COLUMNS, packed=True):
    """`video_database.mat`; a name of the source ends in a blank."""
    names = np.array([name + " " * (name == "FixationPointX") for name in fields], object)[None]
    rows = fixation_rows() if rows is None else rows
    return mat_file({"video_database": {"fixdata": rows, "fixdata_fields": names}}, packed)


ROUNDS = {"001": (1, 6), "002": (1,), "003": (1,), "004": (1,), "005": (1,), "006": (1,)}
ORDERS = ("n,x,y,val,dP,lab,xT,yT", "n,x,y,val,xT,yT,dP,lab")


def gazebase_file(seed=0, samples=40, order=ORDERS[0], first_ms=0):
    """A recording of GazeBase: x rises by 0.01 degrees a millisecond, y falls by 0.5; samples 5
    to 7 are lost."""
    lines = [order]
    for at in range(samples):
        lost = 5 <= at <= 7
        cells = {
            "n": first_ms + at, "x": "NaN" if lost else f"{seed + at / 100:.6f}",
            "y": "NaN" if lost else f"{-at / 2}", "val": 4 * lost, "dP": 0 if lost else 1100 + at,
            "lab": "NaN", "xT": seed, "yT": "NaN",
        }  # fmt: skip
        lines.append(",".join(str(cells[column]) for column in order.split(",")))
    return ("\n".join(lines) + "\n").encode()


def gazebase_recordings(subject="001", number=1, tasks=("TEX", "HSS"), seed=0):
    """Names and bytes of the recordings of one visit; `HSS` has its columns in another order."""
    return {
        f"S{session}/S{session}_{task}/S_{number}{subject}_S{session}_{task}.csv": gazebase_file(
            seed + session + 10 * place, order=ORDERS[task == "HSS"]
        )
        for session in (1, 2)
        for place, task in enumerate(tasks)
    }


def gazebase_files(rounds=ROUNDS, tasks=("TEX", "HSS"), folder="", packed=True):
    """Names and bytes of a small archive of GazeBase: an archive for each visit, or its files."""
    files = {}
    for subject, numbers in rounds.items():
        for number in numbers:
            visit = gazebase_recordings(subject, number, tasks, 1000 * int(subject) + 100 * number)
            name = f"{folder}Round_{number}/Subject_{number}{subject}"
            if packed:
                files[f"{name}.zip"] = zipped(visit)
            else:
                files |= {f"{name}/{member}": content for member, content in visit.items()}
    return files
