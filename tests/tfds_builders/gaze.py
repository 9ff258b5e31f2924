"""Hand-made gaze recordings; `dummy_data/` of their builders was made with them too."""

import io

import numpy as np
import scipy.io

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
