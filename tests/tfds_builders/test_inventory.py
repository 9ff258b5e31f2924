"""Tests that `inventory` finds prepared, available and missing data sets by file names alone."""

import pathlib
import re

import pytest

import tfds_builders
from tests.tfds_builders import samples
from tests.tfds_builders.test_registration import ROOT, in_a_new_process
from tfds_builders import inventory, reading
from tfds_builders.common.find import located

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("name", tfds_builders.list_builders())
def test_a_builder_says_who_is_in_it_and_its_license_as_its_page(name):
    cls = tfds_builders.builder_cls(name)
    page = " ".join((ROOT / "tfds_builders" / name / "README.md").read_text().split())
    terms = re.search("License: (.*?) Checked on real files", page)[1]
    assert cls.ABOUT.license in terms and cls.ABOUT.people >= 0 and cls.ABOUT.size
    for config in cls.builder_configs:
        assert {wanted.dataset for any_of in cls.ABOUT.needs(config) for wanted in any_of} == {name}


@pytest.mark.slow
def test_each_config_is_prepared_or_there_or_missing(tmp_path):
    manual = samples.write(tmp_path / "manual", samples.gait_files())
    samples.write(manual, {"uci_eeg/SMNI_CMI_TRAIN.tar.gz": b"", "PACS.zip": b"", "PACS/a": b""})
    reading.prepared("ipol_gait/left_foot", manual, tmp_path)
    reading.prepared("ipol_gait/left_foot", manual, tmp_path, "tfrecord")
    found = inventory.inventory(manual, tmp_path)
    assert list(found) == tfds_builders.list_builders()
    gait = found["ipol_gait"]["configs"]
    assert gait["left_foot"]["prepared"] == ["tfrecord", "array_record"]
    assert gait["trials"] == {
        "prepared": [], "archive": str(manual / "GaitData"), "missing": None, "problem": None
    }  # fmt: skip
    eeg = found["uci_eeg"]["configs"]
    assert eeg["full_spd64"]["missing"] == "eeg_full.tar"
    assert eeg["large_spd64"]["archive"].endswith("SMNI_CMI_TRAIN.tar.gz")
    problem = found["pacs_images"]["configs"]["photo"]["problem"]
    assert "PACS and PACS.zip, but may hold only one archive" in problem


def test_a_folder_that_cannot_be_read_leaves_the_others_in_the_list(tmp_path, monkeypatch):
    manual = samples.write(tmp_path, {"hyke_audio.zip": b"", "ipol_gait/1-1.csv": b""})

    def iterdir(path, real=pathlib.Path.iterdir):  # root may read every folder
        if path.name == "ipol_gait":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(pathlib.Path, "iterdir", iterdir)
    found = inventory.inventory(manual, tmp_path / "data")
    assert found["ipol_gait"]["configs"]["trials"]["problem"].endswith(f"{manual}/ipol_gait'")
    assert found["hyke_voice"]["configs"]["telephone8k"]["archive"]


def test_an_archive_that_may_hold_the_wanted_one_is_not_opened(tmp_path):
    samples.write(tmp_path, {"eeg+database.zip": b"not read"})
    ((wanted,),) = tfds_builders.builder_cls("uci_eeg").ABOUT.needs("full")
    assert located(tmp_path, wanted) == tmp_path / "eeg+database.zip"


def test_a_config_that_needs_lists_besides_is_not_there_without_them(tmp_path):
    samples.write(tmp_path, {"images.zip": b"", "vox1/wav/id10001/a/1.wav": b""})

    def here():
        found = inventory.inventory(tmp_path, tmp_path)
        mini, voices = (
            found[name]["configs"] for name in ("mini_imagenet_ravi", "voxceleb_verification")
        )
        return [(of["archive"] and True, of["missing"]) for of in (mini["images"], voices["vox1"])]

    assert here() == [(None, "train.csv"), (None, "vox1_meta.csv")]
    samples.write(tmp_path, {"train.csv": b"", "vox1_meta.csv": b""})
    assert here() == [(True, None), (True, None)]


def test_what_tfds_has_by_default_is_looked_at(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path))
    samples.write(tmp_path / "downloads/manual", samples.gait_files())
    assert inventory.inventory()["ipol_gait"]["configs"]["trials"]["archive"]


@pytest.mark.slow
def test_it_takes_no_tensorflow_and_no_second(tmp_path):
    printed = in_a_new_process(
        "import sys, time, tensorflow_datasets\n"
        "start = time.process_time()\n"
        "from tfds_builders.inventory import inventory\n"
        "inventory(sys.argv[1], sys.argv[1])\n"
        "print(time.process_time() - start < 1, 'tensorflow' in sys.modules)",
        tmp_path,
    )
    assert printed.split() == ["True", "False"]
