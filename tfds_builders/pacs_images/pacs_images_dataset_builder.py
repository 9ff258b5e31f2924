"""Data set with photos, paintings, cartoons and sketches of seven classes (PACS, Li2017)."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

import tensorflow_datasets as tfds

from tfds_builders.common.archive import Source
from tfds_builders.common.builder import About, Example, Plan, RecordingsBuilder
from tfds_builders.common.errors import ArchiveError, FormatError, quoted
from tfds_builders.common.find import Wanted
from tfds_builders.common.limits import Limits
from tfds_builders.common.progress import track
from tfds_builders.common.repeats import Repeats
from tfds_builders.common.splits import by_subject
from tfds_builders.parsers import image as images
from tfds_builders.parsers import lists

DOMAINS = {"art_painting": 2_048, "cartoon": 2_344, "photo": 1_670, "sketch": 3_929}
CLASSES = ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person")
SIDE = 227
FRACTIONS = {"train": 0.9, "validation": 0.1}
LISTS = {"train": "train", "validation": "crossval"}  # split: word in the name of its list
_IMAGE = re.compile(r"(?:.*/)?([^/]+)/([^/]+)/([^/]+\.(?:jpe?g|png))", re.IGNORECASE)
_LIST = r"(art_painting|cartoon|photo|sketch)_(train|crossval)_kfold\.txt"
_SOURCE_PHOTO = re.compile(r"(n\d{8}_\d+)(-\d+)?\.\w+")
_GET = (
    "Get PACS (9,991 images, about 190 MB, no license stated) from the authors' page "
    "https://dali-dl.github.io/project_iccv2017.html. Put the archive, or the unpacked folder "
    "PACS or kfold, into the manual folder. Then run `python -m tfds_builders.build "
    "pacs_images --manual-dir FOLDER`."
)
WANTED = Wanted(
    dataset="pacs_images",
    stems=("PACS", "kfold", "PACS_subset"),
    loose=r"art_painting",
    official="PACS.zip",
    get=_GET,
    # some copies contain the images again as .hdf5 files of about 100 MB
    limits=Limits(members=30_000, member_bytes=2 << 30, total_bytes=8 << 30),
)


@dataclasses.dataclass
class Config(tfds.core.BuilderConfig):
    """Configuration that sets the domain that is left out of training.

    Attributes:
        held_out: The domain of the split `test`, one of `DOMAINS`.
    """

    held_out: str = ""


class Item(NamedTuple):
    """One image, described by the parts of its name and the path of the file in the archive."""

    domain: str
    kind: str
    name: str
    member: str

    @property
    def file(self) -> str:
        return f"{self.domain}/{self.kind}/{self.name}"

    @property
    def group(self) -> str:
        """Key of a photo and of all sketches of this photo. Images with the same key are in the
        same split.
        """
        match = _SOURCE_PHOTO.fullmatch(self.name)
        return match[1] if match else self.file


class Builder(RecordingsBuilder):
    """TFDS builder of the data set `pacs_images`."""

    ABOUT = About(
        people=0,
        size=f"{sum(DOMAINS.values()):,} images",
        license="none is stated",
        archives=WANTED,
    )
    HOMEPAGE = "https://dali-dl.github.io/project_iccv2017.html"
    ARCHIVE_KEY = "PACS"
    SUPERVISED_KEYS = ("image", "label")
    BUILDER_CONFIGS = [
        Config(
            name=domain,
            description=f"`test` has the domain {domain}. Training uses the other three domains.",
            held_out=domain,
        )
        for domain in DOMAINS
    ]

    def features(self) -> dict:
        return {
            "image": tfds.features.Image(shape=(SIDE, SIDE, 3)),
            "label": tfds.features.ClassLabel(names=list(CLASSES)),
            "domain": tfds.features.ClassLabel(names=list(DOMAINS)),
            "file": tfds.features.Text(),
        }

    def plan(self, sources: dict[str, Source]) -> Plan:
        source = sources[self.ARCHIVE_KEY]
        all_items = items_of(source)
        self.warn_of_part(source, "PACS", {"images": (len(all_items), sum(DOMAINS.values()))})
        items = distinct(source, all_items)
        held_out = self.builder_config.held_out
        splits = {**split_items(source, items, held_out), "test": of_domain(items, held_out)}
        return Plan(
            splits,
            functools.partial(examples_of, source=source),
            "images",
            metadata={"domains": {split: sorted({item.domain for item in members})
                                  for split, members in splits.items()}},
        )  # fmt: skip


def examples_of(item: Item, _: object, source: Source) -> Iterator[Example]:
    """Yields the example of an image."""
    yield (
        item.file,
        {
            "image": source.open(item.member),
            "label": item.kind,
            "domain": item.domain,
            "file": item.file,
        },
    )


def items_of(source: Source) -> list[Item]:
    """Returns the images of an archive, in the order of domains, classes and names.

    Raises:
        ArchiveError: If a domain has no image, if the domain or class of an image is unknown, or if
            an image occurs twice.
    """
    items: dict[str, Item] = {}
    for member in source.names:
        match = _IMAGE.fullmatch(member)
        if match is None:
            continue
        item = Item(*match.groups(), member)
        if item.domain not in DOMAINS or item.kind not in CLASSES:
            raise ArchiveError(
                f"{source.title}: {quoted(member)} is not in a folder <domain>/<class> of PACS "
                f"({', '.join(DOMAINS)}; {', '.join(CLASSES)}). Remove the file."
            )
        if items.setdefault(item.file, item) is not item:
            raise ArchiveError(
                f"{source.title} holds the same image twice: {items[item.file].member} and "
                f"{member}. Remove one of the two folders."
            )
    missing = [domain for domain in DOMAINS if not of_domain(list(items.values()), domain)]
    if missing:
        raise ArchiveError(
            f"{source.title} holds no images <domain>/<class>/<name> of the domains "
            f"{', '.join(missing)}. It holds {source.first_names}. {_GET}"
        )
    return sorted(items.values())


def distinct(source: Source, items: list[Item]) -> list[Item]:
    """Returns all images except those with the same pixels as an earlier image of the same domain
    and class.

    Raises:
        ArchiveError: If the same image occurs in two domains or classes. One of the two labels must
            be wrong, and images of the test domain could be in the training data.
        FormatError: If an image cannot be read.
    """
    repeats = Repeats(source.title, "images", "left out")
    for item in track(items, f"{source.title}: looking for repeated images"):
        image = images.parse(source.open(item.member), name=item.member, side=SIDE)
        repeats.add(image.pixels, item.file, f"{item.domain}, {item.kind}")
    repeats.report()
    return [item for item in items if item.file not in repeats.same_as]


def of_domain(items: list[Item], domain: str) -> list[Item]:
    """Returns the images of one domain."""
    return [item for item in items if item.domain == domain]


def split_items(source: Source, items: list[Item], held_out: str) -> dict[str, list[Item]]:
    """Divides the three training domains into the splits `train` and `validation`.

    If the archive contains the official lists, these lists determine the splits. Without these
    lists, a hash of the names selects a tenth of each class for validation. A photo and all
    sketches of this photo are in the same split. The selection does not depend on the domain that
    is left out.

    Raises:
        ArchiveError: If only some of the lists exist, or if an image is in no list.
        FormatError: If a list cannot be read, or if a label in a list is not the class of the
            image's folder.
        ValueError: If a class has only one image.
    """
    trained = [item for item in items if item.domain != held_out]
    sides = _listed(source) or _drawn(items)
    lost = [item.file for item in trained if item.file not in sides]
    if lost:
        raise ArchiveError(
            f"{source.title}: {len(lost)} images are not in the lists. The first is {lost[0]}. "
            "Get lists and images from the same source, or remove the lists."
        )
    return {split: [item for item in trained if sides[item.file] == split] for split in FRACTIONS}


def _drawn(items: list[Item]) -> dict[str, str]:
    sides = {}
    for kind in CLASSES:
        members = [item for item in items if item.kind == kind]
        if not members:
            continue
        for split, groups in by_subject([item.group for item in members], FRACTIONS).items():
            chosen_groups = set(groups)
            sides.update({item.file: split for item in members if item.group in chosen_groups})
    return sides


def _listed(source: Source) -> dict[str, str]:
    members = source.index(_LIST)
    expected = {(domain, word) for domain in DOMAINS for word in LISTS.values()}
    if members and set(members) != expected:
        domain, word = sorted(expected - set(members))[0]
        raise ArchiveError(
            f"{source.title} holds {len(members)} of {len(expected)} lists. "
            f"{domain}_{word}_kfold.txt does not exist. Add it, or remove the other lists."
        )
    splits = {word: split for split, word in LISTS.items()}
    sides: dict[str, str] = {}
    for (domain, word), member in members.items():
        for file, label in lists.parse(source.open(member), name=member).labels.items():
            if file.split("/")[:2] != [domain, *CLASSES[label - 1 : label]]:
                raise FormatError(
                    member, "", f"the list contains {quoted(file)} as class {label}",
                    f"images of {domain}, class 1 ({CLASSES[0]}) to 7 ({CLASSES[-1]})",
                    "Get the list again.",
                )  # fmt: skip
            if sides.setdefault(file, splits[word]) != splits[word]:
                raise ArchiveError(f"{source.title}: {file} is in two lists. Get the lists again.")
    return sides
