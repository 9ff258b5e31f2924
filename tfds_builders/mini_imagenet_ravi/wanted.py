"""Descriptions of the archives that the builder of mini-ImageNet accepts: lists, images and
pickles.
"""

from __future__ import annotations

from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits

GET = (
    "Get train.csv, val.csv and test.csv from the folder data/miniImagenet of "
    "https://github.com/twitter-research/meta-learning-lstm. Get the images of ImageNet (for "
    "research only) that these lists name, such as n0153282900000005.jpg. Their usual "
    "archive is images.zip (2.9 GB). The config cache_pkl needs only the files "
    "mini-imagenet-cache-train.pkl, mini-imagenet-cache-val.pkl and "
    "mini-imagenet-cache-test.pkl. Their usual archive is mini-imagenet.tar.gz (1.3 GB "
    "unpacked). Put the "
    "files into a folder mini_imagenet_ravi in the manual folder. Then run `python -m "
    "tfds_builders.build mini_imagenet_ravi --manual-dir FOLDER`, or "
    "the same command with `mini_imagenet_ravi/cache_pkl`."
)
CACHE = r"mini-imagenet-cache-(train|val|validation|test)\.pkl"


def _wanted(official: str, *stems: str, member_bytes: int, **more) -> Wanted:
    return Wanted(
        dataset="mini_imagenet_ravi",
        stems=stems,
        official=official,
        get=GET,
        limits=Limits(members=200_000, member_bytes=member_bytes, total_bytes=16 << 30),
        **more,
    )


LISTS = _wanted(
    "train.csv", "mini_imagenet_splits", "miniImagenet",
    aliases=("mini_imagenet_splits",),
    loose=r"(train|val|test)\.csv|ravi",
    member_bytes=1 << 30,  # the pickles may be in the same folder
)  # fmt: skip
IMAGES = _wanted("images.zip", "images", "miniImagenet", member_bytes=64 << 20)
PICKLES = _wanted(
    "mini-imagenet-cache-train.pkl", "mini-imagenet", "mini-imagenet-cache",
    loose=CACHE,
    member_bytes=1 << 30,
)  # fmt: skip
