"""Hand-made matrices of faces; `dummy_data/` of their builder was made with them too."""

import numpy as np

from tests.tfds_builders.gaze import mat_file

CLIPS = {  # by folder: label and clip; 10_1 and 10_2 are cut from one video
    "train": [("1", "10_1"), ("1", "10_2"), *((str(n), f"{10 * n}_1") for n in range(2, 8))],
    "val": [("1", "80_1"), ("2", "90_1"), ("7", "95_1")],
}


def face_matrix(seed=0, side=400):
    """A positive definite matrix: `seed` + 1 on its diagonal, a quarter elsewhere."""
    return np.full((side, side), 0.25) + (seed + 0.75) * np.eye(side)


def face_file(matrix):
    """A file of a matrix, as SciPy writes it."""
    return mat_file({"Y1": matrix})


def face_files(clips=CLIPS, folder="spdface_400_inter_histeq/"):
    """Names and bytes of a small archive; matrix n of all is `face_matrix(n)`."""
    names = [f"{part}/{label}/{clip}.mat" for part, held in clips.items() for label, clip in held]
    return {f"{folder}{name}": face_file(face_matrix(n)) for n, name in enumerate(names)}
