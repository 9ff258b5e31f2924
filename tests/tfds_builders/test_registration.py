"""Tests that `import tfds_builders` registers all builders once, without importing TensorFlow."""

import importlib
import pathlib
import re
import subprocess
import sys

import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core import registered

import tfds_builders

ROOT = pathlib.Path(__file__).parents[2]
NAMES = [
    "aalto_keystrokes", "afew_spd", "deap_eeg", "diem_gaze", "findwho_gaze", "gaitauth_walks",
    "gazebase_gaze", "gazecom_gaze", "hdm05_mocap", "hyke_voice", "ipol_gait",
    "japanese_vowels_lpc", "ltmm_gait", "mini_imagenet_ravi", "motionsense_inertial", "pacs_images",
    "ravdess_speech", "sp_sw_har", "uci_eeg", "uci_har_inertial", "voxceleb_verification",
]  # fmt: skip


def in_a_new_process(code, *arguments):
    """Runs code in a new interpreter, in the repository, and returns the printed text."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_builders_are_listed():
    assert tfds_builders.list_builders() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_tfds_knows_each_builder_by_name(name, tmp_path):
    builder = tfds.builder(name, data_dir=tmp_path)
    assert builder.name == name
    assert builder.info.description.startswith(f"# {name}")
    assert "manual" in builder.info.description and builder.info.citation.startswith("@")
    assert builder.MANUAL_DOWNLOAD_INSTRUCTIONS


@pytest.mark.parametrize("name", NAMES)
def test_each_config_says_by_which_command_it_is_prepared(name, tmp_path):
    for config in tfds_builders.builder_cls(name).builder_configs:
        told = tfds.builder(f"{name}/{config}", data_dir=tmp_path).MANUAL_DOWNLOAD_INSTRUCTIONS
        assert re.findall(r"tfds_builders.build (\S+)", told) == [f"{name}/{config}"]


OF_PEOPLE = [name for name in NAMES if tfds_builders.builder_cls(name).ABOUT.people]


@pytest.mark.parametrize("name", OF_PEOPLE)
def test_records_of_people_say_who_when_and_by_what(name, tmp_path):
    for config in tfds_builders.builder_cls(name).builder_configs:
        features = tfds.builder(f"{name}/{config}", data_dir=tmp_path).info.features
        if not config.startswith("trials_"):  # their records are pairs of recordings
            assert {"subject", "session", "day", "device"} <= {*features}, config
        assert not {"actor", "person", "sensor", "speaker", "voice"} & {*features}, config


def test_no_name_is_taken_by_tfds_itself():
    own = {
        name for name, cls in registered._DATASET_REGISTRY.items() if "tfds_builders" in str(cls)
    }
    taken = set(registered.list_imported_builders()) - own
    assert len(taken) > 300 and not taken & set(NAMES)


def test_registering_twice_adds_no_second_provider():
    before = list(registered._DATASET_PROVIDER_REGISTRY)
    importlib.reload(tfds_builders)
    assert registered._DATASET_PROVIDER_REGISTRY == before


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ipol_gate", "'ipol_gait'"),
        ("EEG", "'uci_eeg'"),
        ("gaitauth", "'gaitauth_walks'"),
        ("deap", "'deap_eeg'"),
        ("ltmm", "'ltmm_gait'"),
        ("uci_har", "'uci_har_inertial'"),
        ("motionsense", "'motionsense_inertial'"),
        ("hdm05", "'hdm05_mocap'"),
        ("ravdess", "'ravdess_speech'"),
        ("hyke", "'hyke_voice'"),
        ("gazebase", "'gazebase_gaze'"),
        ("gazecom", "'gazecom_gaze'"),
        ("diem", "'diem_gaze'"),
        ("findwho", "'findwho_gaze'"),
        ("pacs", "'pacs_images'"),
        ("afew", "'afew_spd'"),
        ("aalto", "'aalto_keystrokes'"),
        ("miniimagenet", "'mini_imagenet_ravi'"),
        ("vowels/ts", "'japanese_vowels_lpc'"),
        ("voxceleb", "'voxceleb_verification'"),
    ],
)
def test_an_unknown_name_proposes_the_nearest(name, near):
    with pytest.raises(ValueError, match=f"Did you mean {near}"):
        tfds_builders.builder_cls(name)


@pytest.mark.slow
def test_importing_is_lazy_and_loads_no_tensorflow():
    printed = in_a_new_process(
        "import time, sys, tensorflow_datasets\n"
        "start = time.perf_counter()\n"
        "import tfds_builders\n"
        "print(time.perf_counter() - start)\n"
        "print([m for m in ('tensorflow', 'keras', 'keras_dml') if m in sys.modules])\n"
        "print([m for m in sys.modules if m.startswith('tfds_builders.')])"
    )
    seconds, heavy, modules = printed.splitlines()
    assert float(seconds) < 0.05
    assert (heavy, modules) == ("[]", "[]")


@pytest.mark.slow
def test_without_the_hook_the_builders_register_themselves():
    printed = in_a_new_process(
        "import sys\n"
        "from tensorflow_datasets.core import registered\n"
        "del registered.add_dataset_builder_provider\n"
        "import tfds_builders, tensorflow_datasets as tfds\n"
        "print(*(tfds.builder_cls(name).name for name in tfds_builders.list_builders()))"
    )
    assert printed.split() == NAMES


def test_without_tfds_the_error_names_the_extra():
    printed = in_a_new_process(
        "import sys\n"
        "sys.modules['tensorflow_datasets'] = None\n"
        "try:\n"
        "    import tfds_builders\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    assert 'pip install "keras-dml[data]"' in printed
