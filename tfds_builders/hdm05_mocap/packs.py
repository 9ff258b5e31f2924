"""Reader of the covariance matrices that two papers on SPD networks published for the clips of
HDM05.

The archive `spd_eth` (Huang2017) has files `HDM05_SPDData/feature/<motion>/<file>.mat` with the
variable `Y1`, a matrix of shape (93, 93). The archive `spd_brooks117` (Brooks2019) has files
`<...>_<label>.npy` with a real or complex matrix of shape (93, 93). The labels of `spd_brooks117`
are 0 to 116.
"""

from __future__ import annotations

import re
from typing import BinaryIO, NamedTuple

import numpy as np

from tfds_builders.common.archive import Source
from tfds_builders.common.errors import ArchiveError
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.spd import symmetric
from tfds_builders.parsers import mat5, npy

CHANNELS = 93
LABELS = 117
MATRICES = {"spd_brooks117": 2_086}  # the source states only "about 18,000" for spd_eth
_LIMITS = Limits(members=50_000, member_bytes=32 << 20, total_bytes=8 << 30)
_RUN = "Put the archive into the manual folder. Then run `python -m tfds_builders.build"
PACKS = {
    "spd_eth": Wanted(
        dataset="hdm05_mocap",
        aliases=("hdm05",),
        stems=("HDM05_SPDData",),
        loose="feature",
        official="HDM05_SPDData.zip",
        get="Get HDM05_SPDData.zip, whose address is on https://github.com/zhiwu-huang/SPDNet. "
        f"{_RUN} hdm05_mocap/spd_eth --manual-dir FOLDER`.",
        limits=_LIMITS,
    ),
    "spd_brooks117": Wanted(
        dataset="hdm05_mocap",
        aliases=("hdm05",),
        stems=("hdm05",),
        loose=r".*_\d{1,3}\.npy",
        official="hdm05.tgz",
        get="Get hdm05.tgz, HDM05's matrices in the format of torchspdnet (Brooks2019). "
        f"{_RUN} hdm05_mocap/spd_brooks117 --manual-dir FOLDER`.",
        limits=_LIMITS,
    ),
}


class Matrix(NamedTuple):
    """One matrix of a published archive, with its key, the name of its motion in the archive, and
    its file.
    """

    key: str
    motion: str
    member: str


def matrices_of(source: Source, pack: str) -> list[Matrix]:
    """Returns the matrices of a published archive, in the order of motions and names.

    Raises:
        ArchiveError: If the archive has no matrix, if a label is unknown, or if a name occurs
            twice.
    """
    matrices = (_of_eth if pack == "spd_eth" else _of_brooks)(source)
    if not matrices:
        names = source.first_names
        raise ArchiveError(
            f"{source.title} holds no matrix of {pack}. It holds {names}. {PACKS[pack].get}"
        )
    return sorted(matrices)


def read(file: BinaryIO, name: str) -> np.ndarray:
    """Reads a symmetric float64 matrix of shape (93, 93).

    Raises:
        FormatError: If the file is damaged, if the shape of the matrix is not (93, 93), or if the
            matrix is not symmetric.
    """
    if name.lower().endswith(".npy"):
        matrix = npy.parse(file, name=name, kinds=("f4", "f8", "c8", "c16"))
    else:
        matrix = mat5.parse(file, name=name, variables=("Y1",))["Y1"]
    return symmetric(mat5.table(matrix, CHANNELS, name=name, location="the matrix"), name=name)


def _of_eth(source: Source) -> list[Matrix]:
    """Returns the matrices in `feature/<motion>/`. The function ignores all other files, such as
    the index.
    """
    matrices = []
    for name in source.names:
        if match := re.fullmatch(r"(?:.*/)?feature/([^/]+)/([^/]+)\.mat", name):
            motion, stem = match.groups()
            matrices.append(Matrix(f"{motion}/{stem}", motion, name))
    return matrices


def _of_brooks(source: Source) -> list[Matrix]:
    matrices = []
    for (stem, label), name in source.index(r"(.*_(\d{1,3}))\.npy").items():
        if int(label) >= LABELS:
            raise ArchiveError(
                f"{source.title}: {name} has the label {label}, expected 0 to {LABELS - 1}. Remove "
                "all files that are not matrices of HDM05."
            )
        matrices.append(Matrix(stem, str(int(label)), name))
    return matrices
