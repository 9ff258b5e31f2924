"""Functions that make small covariance matrices of faces for tests.

The files in `dummy_data/` of `afew_spd` come from these functions.
"""

import numpy as np

from tests.tfds_builders.gaze import mat_file

CLIPS = {  # (label, clip) pairs per folder. Clips 10_1 and 10_2 come from the same video.
    "train": [("1", "10_1"), ("1", "10_2"), *((str(n), f"{10 * n}_1") for n in range(2, 8))],
    "val": [("1", "80_1"), ("2", "90_1"), ("7", "95_1")],
}


def face_matrix(seed=0, side=400):
    """Returns a positive definite matrix with `seed` + 1 on the diagonal and 0.25 elsewhere."""
    return np.full((side, side), 0.25) + (seed + 0.75) * np.eye(side)


def face_file(matrix):
    """Returns a MATLAB file with one matrix, as SciPy writes it."""
    return mat_file({"Y1": matrix})


def face_files(clips=CLIPS, folder="spdface_400_inter_histeq/"):
    """Returns the names and bytes of a small archive whose n-th matrix is `face_matrix(n)`."""
    names = [f"{part}/{label}/{clip}.mat" for part, held in clips.items() for label, clip in held]
    return {f"{folder}{name}": face_file(face_matrix(n)) for n, name in enumerate(names)}
