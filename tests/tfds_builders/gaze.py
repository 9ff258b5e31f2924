"""Functions that make small gaze recordings for tests.

The files in `dummy_data/` of the gaze builders come from these functions.
"""

import io

import numpy as np
import scipy.io

from tests.tfds_builders.samples import zipped
from tfds_builders.findwho_gaze.fixations import COLUMNS

WATCHERS = ("AAA", "BBB", "C1C", "DDD", "EEE", "FFF", "GGG")
MOVIES = ("beach", "bridge_1")


def coord_file(seed=0, samples=12, first_us=1000):
    """Returns a GazeCom recording in which x rises by 2 and y falls by 0.5 every 4 ms.

    The eye tracker lost the fourth sample. The last sample comes 40 ms later than usual.
    """
    lines = ["gaze 1280 720", "geometry distance 0.45 width 0.4 height 0.225"]
    for at in range(samples):
        time = first_us + 4000 * at + 40_000 * (at == samples - 1)
        x, y = (0, 0) if at == 3 else (600 + seed + 2 * at, 300 - at / 2)
        lines.append(f"{time} {x:g} {y:g} {int(at != 3)}")
    return ("\n".join(lines) + "\n").encode()


def coord_files(people=WATCHERS, movies=MOVIES, folder="gaze/natural_movies_gaze/"):
    """Returns the names and bytes of the files of a small GazeCom archive."""
    return {
        f"{folder}{person}_{movie}.coord": coord_file(seed=10 * at + 3 * place)
        for at, person in enumerate(people)
        for place, movie in enumerate(movies)
    }


VIEWERS = tuple(f"diem{experiment}s{number}" for experiment in (2, 3) for number in range(1, 6))
FILMS = ("50_people_brooklyn_1280x720", "arctic_bears_1066x710")


def event_file(seed=0, frames=8):
    """Returns a DIEM recording whose column c of frame f is f + c + seed.

    The eye tracker lost frame 3. Frame 5 is a saccade of the left eye. The last frame has the
    value that the eye tracker writes on overflow.
    """
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
    """Returns the file name of a DIEM recording."""
    return f"{folder}{film}/event_data/{subject}.asc_{place}_{film}.txt"


def event_files(people=VIEWERS, films=FILMS, folder=""):
    """Returns the names and bytes of a small DIEM archive. Each person sees the films in order."""
    return {
        event_name(person, film, place, folder): event_file(seed=10 * at + place)
        for at, person in enumerate(people)
        for place, film in enumerate(films, 1)
    }


def fixation_rows(people=range(1, 7), videos=range(1, 7), count=3):
    """Returns the rows of the table `fixdata`.

    Fixation k of person p on video v begins at 400 k + p ms, at x = 100 p + v. The last row
    has person 0, which does not exist.
    """
    rows = [
        [person, video, 400 * k + person, 200 + k, 100 * person + video, 50 * k]
        for person in people
        for video in videos
        for k in range(count)
    ]
    return np.array([*rows, [0, 2, 19_545, 466, 873, 388]], np.uint16)


def mat_file(variables, packed=True):
    """Returns a MATLAB 5 file as SciPy writes it, but without the date in the header."""
    out = io.BytesIO()
    scipy.io.savemat(out, variables, do_compression=packed)
    return b"MATLAB 5.0 MAT-file".ljust(116) + out.getvalue()[116:]


def fixation_file(rows=None, fields=COLUMNS, packed=True):
    """Returns the file `video_database.mat`.

    As in the original file, the name of the column `FixationPointX` ends in a space.
    """
    names = np.array([name + " " * (name == "FixationPointX") for name in fields], object)[None]
    rows = fixation_rows() if rows is None else rows
    return mat_file({"video_database": {"fixdata": rows, "fixdata_fields": names}}, packed)


ROUNDS = {"001": (1, 6), "002": (1,), "003": (1,), "004": (1,), "005": (1,), "006": (1,)}
ORDERS = ("n,x,y,val,dP,lab,xT,yT", "n,x,y,val,xT,yT,dP,lab")


def gazebase_file(seed=0, samples=40, order=ORDERS[0], first_ms=0):
    """Returns a GazeBase recording without valid gaze in samples 5 to 7.

    In each millisecond, x rises by 0.01 degrees and y falls by 0.5 degrees.
    """
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
    """Returns the names and bytes of the recordings of one visit.

    The columns of the task `HSS` have another order than the columns of the other tasks.
    """
    return {
        f"S{session}/S{session}_{task}/S_{number}{subject}_S{session}_{task}.csv": gazebase_file(
            seed + session + 10 * place, order=ORDERS[task == "HSS"]
        )
        for session in (1, 2)
        for place, task in enumerate(tasks)
    }


def gazebase_files(rounds=ROUNDS, tasks=("TEX", "HSS"), folder="", packed=True):
    """Returns the names and bytes of a small GazeBase archive.

    If `packed` is true, each visit is a zip archive. If `packed` is false, each visit is a folder.
    """
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
