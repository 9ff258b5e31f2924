"""Runs the test case of TFDS for configs whose archives are not in `dummy_data/`."""

import importlib
import pathlib
import tempfile

import pytest
import tensorflow_datasets as tfds

import tfds_builders
from tests.tfds_builders import gaze, inertial, media, samples
from tests.tfds_builders.test_hdm05_packs import BROOKS, ETH
from tests.tfds_builders.test_uci_eeg import PEOPLE, TRAIN, small_archives, subject_archive
from tfds_builders.gazebase_gaze.archive import TASKS


class FromSamples:
    """Mixin that writes `files()` to a temporary folder and uses the folder as `dummy_data`."""

    SKIP_TF1_GRAPH_MODE = True

    @classmethod
    def files(cls):
        return cls.FILES

    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        # TFDS reads EXAMPLE_DIR only once, when pytest collects the class.
        cls.dummy_data = samples.write(folder, cls.files())
        super().setUpClass()


@pytest.mark.slow
class DiemAll(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("diem_gaze")
    BUILDER_CONFIG_NAMES_TO_TEST = ["all"]
    FILES = gaze.event_files(folder="diem_gaze/")
    SPLITS = {"train": 20}


@pytest.mark.slow  # `GazeBaseAll` also reads these files
class GazeBase(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("gazebase_gaze")
    BUILDER_CONFIG_NAMES_TO_TEST = [
        f"{task.lower()}{rate_hz}" for task in TASKS for rate_hz in (1000, 100)
    ]
    FILES = gaze.gazebase_files(tasks=TASKS, folder="gazebase_gaze/")
    SPLITS = {"train": 8, "validation": 2, "test": 4}


@pytest.mark.slow
class GazeBaseAll(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("gazebase_gaze")
    BUILDER_CONFIG_NAMES_TO_TEST = ["all1000", "all100"]
    FILES = gaze.gazebase_files(tasks=TASKS, folder="gazebase_gaze/")
    SPLITS = {"train": 56, "validation": 14, "test": 28}


@pytest.mark.slow
class Hdm05Eth(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("hdm05_mocap")
    BUILDER_CONFIG_NAMES_TO_TEST = ["spd_eth"]
    FILES = ETH
    SPLITS = {"train": 4}


@pytest.mark.slow
class Hdm05Brooks(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("hdm05_mocap")
    BUILDER_CONFIG_NAMES_TO_TEST = ["spd_brooks117"]
    FILES = BROOKS
    SPLITS = {"train": 3}


@pytest.mark.slow
class LtmmLab(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("ltmm_gait")
    BUILDER_CONFIG_NAMES_TO_TEST = ["lab"]
    FILES = inertial.ltmm_files()
    SPLITS = {"train": 2, "validation": 1, "test": 2}


@pytest.mark.slow
class RaviCache(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("mini_imagenet_ravi")
    BUILDER_CONFIG_NAMES_TO_TEST = ["cache_pkl"]
    FILES = {
        f"mini_imagenet_ravi/mini-imagenet-cache-{word}.pkl": media.ravi_cache(wnids)
        for word, wnids in media.WNIDS.items()
    }
    SPLITS = {"train": 6, "validation": 4, "test": 4}


@pytest.mark.slow
class PacsCartoon(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("pacs_images")
    BUILDER_CONFIG_NAMES_TO_TEST = ["cartoon"]
    FILES = media.pacs_files()
    SPLITS = {"train": 56, "validation": 7, "test": 21}


@pytest.mark.slow
class PacsPhoto(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("pacs_images")
    BUILDER_CONFIG_NAMES_TO_TEST = ["photo"]
    FILES = PacsCartoon.FILES
    SPLITS = {"train": 59, "validation": 4, "test": 21}


@pytest.mark.slow
class PacsSketch(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("pacs_images")
    BUILDER_CONFIG_NAMES_TO_TEST = ["sketch"]
    FILES = PacsCartoon.FILES
    SPLITS = {"train": 57, "validation": 6, "test": 21}


@pytest.mark.slow
class EegFull(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("uci_eeg")
    BUILDER_CONFIG_NAMES_TO_TEST = ["full", "full_spd64"]
    SPLITS = {"train": 6, "validation": 6, "test": 6}

    @classmethod
    def files(cls):  # compressing takes too long for the import of this module
        people = (*PEOPLE, "co2a0000001")
        archives = {f"{person}.tar.gz": subject_archive(person) for person in people}
        return {"eeg_full.tar": samples.tar(archives, "w:")}


@pytest.mark.slow
class EegLarge(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("uci_eeg")
    BUILDER_CONFIG_NAMES_TO_TEST = ["large_spd64"]
    FILES = TRAIN
    SPLITS = {"train": 12}


@pytest.mark.slow
class EegSmall(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("uci_eeg")
    BUILDER_CONFIG_NAMES_TO_TEST = ["small", "small_spd64"]
    SPLITS = {"train": 18}

    @classmethod
    def files(cls):
        return {"smni_eeg_data.tar.gz": samples.tar(small_archives(), "w:gz")}


@pytest.mark.slow
class VoxCeleb2(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("voxceleb_verification")
    BUILDER_CONFIG_NAMES_TO_TEST = ["vox2"]
    FILES = media.voice_files("vox2")
    SPLITS = {"train": 9, "validation": 3, "test": 6}


@pytest.mark.slow
class VoxCelebTrials(FromSamples, tfds.testing.DatasetBuilderTestCase):
    DATASET_CLASS = tfds_builders.builder_cls("voxceleb_verification")
    BUILDER_CONFIG_NAMES_TO_TEST = [
        f"trials_{which}{cleaned}" for which in "oeh" for cleaned in ("", "_cleaned")
    ]
    FILES = {"voxceleb_verification/vox1_meta.csv": media.speaker_table()} | {
        f"voxceleb_verification/{name}{number}.txt": media.trial_list()
        for name in ("veri_test", "list_test_all", "list_test_hard")
        for number in ("", "2")
    }
    SPLITS = {"test": 4}


def test_every_config_of_every_builder_has_a_test_case():
    cases = [
        held
        for name in tfds_builders.list_builders()
        for held in vars(
            importlib.import_module(f"tfds_builders.{name}.{name}_dataset_builder_test")
        ).values()
    ]
    tried = {name: set() for name in tfds_builders.list_builders()}
    for case in (*cases, *globals().values()):
        if isinstance(case, type) and issubclass(case, tfds.testing.DatasetBuilderTestCase):
            configs = case.BUILDER_CONFIG_NAMES_TO_TEST or case.DATASET_CLASS.builder_configs
            tried[case.DATASET_CLASS.name] |= {*configs}
    for name, configs in tried.items():
        assert configs == {*tfds_builders.builder_cls(name).builder_configs}, name
