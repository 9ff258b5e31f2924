"""Tests that Apache Beam writes the same examples and raises the same errors as a run without Beam.

The extra `test` does not contain Beam. Without Beam, the tests that need Beam are skipped.
`.ci/run` runs these tests in a second environment.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import tfds_builders
from tests.tfds_builders import gaze, inertial, media, samples
from tests.tfds_builders.keystrokes import keystroke_files
from tfds_builders import reading
from tfds_builders.build import app
from tfds_builders.common.errors import ArchiveError, FormatError, PipelineError

pytestmark = pytest.mark.usefixtures("quiet")
needs_beam = pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None,
    reason='Apache Beam is not here: pip install "keras-dml[beam]"',
)
LTMM = inertial.ltmm_files()
VISIT = "GazeBase_v2_0/Round_1/Subject_1001.zip"
GAZEBASE = gaze.gazebase_files(folder="GazeBase_v2_0/")
REPEATED = GAZEBASE | {
    VISIT: samples.zipped(dict.fromkeys(gaze.gazebase_recordings("001"), gaze.gazebase_file()))
}
VOXCELEB = media.voice_files() | {"voxceleb_verification/veri_test.txt": media.trial_list()}
KEYSTROKES = {"Keystrokes.zip": samples.zipped(keystroke_files(people=range(1, 21)))}
IN_THIS_PROCESS = "runner=FnApiRunner"  # DirectRunner would download Prism


def options_of(text):
    from tfds_builders.common import beam_jobs

    return beam_jobs.parse_options(text or beam_jobs.ALL_PROCESSORS)


@pytest.fixture
def pipeline():
    return options_of(IN_THIS_PROCESS)


def prepare(folder, name, files, options=None):
    manual = samples.write(folder / "manual", files)
    return reading.prepared(name, manual, folder / "data", beam_options=options)


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@needs_beam
@pytest.mark.parametrize(
    ("name", "files", "options"),
    [
        ("ltmm_gait", LTMM, IN_THIS_PROCESS),
        ("ltmm_gait/lab", LTMM, IN_THIS_PROCESS),
        ("gazebase_gaze/all1000", REPEATED, IN_THIS_PROCESS),
        ("voxceleb_verification/vox1", VOXCELEB, IN_THIS_PROCESS),
        ("voxceleb_verification/trials_o", VOXCELEB, IN_THIS_PROCESS),
        ("aalto_keystrokes/sentences", KEYSTROKES, IN_THIS_PROCESS),
        ("aalto_keystrokes/new_sentences", KEYSTROKES, IN_THIS_PROCESS),
        pytest.param("gazebase_gaze/all100", REPEATED, "", marks=pytest.mark.slow, id="processes"),
    ],
)
def test_examples_order_and_metadata_are_those_without_beam(name, files, options, tmp_path):
    plain, beam = (
        prepare(tmp_path / kind, name, files, given)
        for kind, given in (("plain", None), ("beam", options_of(options)))
    )
    assert dict(beam.info.metadata) == dict(plain.info.metadata)
    assert list(beam.info.splits) == list(plain.info.splits)
    _assert_equal_examples(beam, plain)
    names = [sorted(path.name for path in it.data_path.iterdir()) for it in (plain, beam)]
    assert names[0] == names[1]  # the temporary files of the workers are gone


def _assert_equal_examples(builder, expected_builder):
    """Asserts that two prepared data sets have equal examples in the same order."""
    splits = expected_builder.as_data_source()
    assert splits
    for split, expected in splits.items():
        examples = builder.as_data_source(split)
        assert len(examples) == len(expected) > 0
        for example, expected_example in zip(examples, expected, strict=True):
            assert example.keys() == expected_example.keys()
            for key, value in expected_example.items():
                np.testing.assert_array_equal(example[key], value)


@pytest.fixture
def portable_options(tmp_path):
    """Starts a job service and a worker pool, as Flink and Spark do, and yields Beam's options.

    The test uses the local job service of Beam, which does not need Java.
    """
    job_port, pool_port = _free_port(), _free_port()
    repository = pathlib.Path(tfds_builders.__file__).parents[1]
    environment = os.environ | {"PYTHONPATH": str(repository)}  # workers import the builders
    commands = (
        ("tfds_builders.worker_pool", f"--service_port={pool_port}"),
        ("apache_beam.runners.portability.local_job_service_main", "--port", str(job_port)),
    )
    with contextlib.ExitStack() as stack:
        for module, *arguments in commands:
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-m", module, *arguments], env=environment)
            )
            stack.callback(process.terminate)
        for port in (job_port, pool_port):
            _wait_for(port)
        yield (
            f"runner=PortableRunner,job_endpoint=localhost:{job_port},"
            f"environment_type=EXTERNAL,environment_config=localhost:{pool_port}"
        )


def _free_port():
    with socket.create_server(("localhost", 0)) as server:
        return server.getsockname()[1]


def _wait_for(port, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("localhost", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


@needs_beam
def test_the_portable_runner_writes_the_same_examples(portable_options, tmp_path):
    """Flink and Spark also start this worker pool through Beam's portable runner."""
    plain, beam = (
        prepare(tmp_path / kind, "ltmm_gait", LTMM, options)
        for kind, options in (("plain", None), ("beam", options_of(portable_options)))
    )
    assert dict(beam.info.metadata) == dict(plain.info.metadata)
    _assert_equal_examples(beam, plain)


@needs_beam
@pytest.mark.parametrize(
    ("name", "files", "kind", "message"),
    [
        (
            "ltmm_gait",
            LTMM | {"ltmm/CO030.dat": LTMM["ltmm/CO030.dat"][:-1]},
            FormatError,
            r"^CO030\.dat: .* bytes, expected .*, as its header states\.",
        ),
        (
            "gazebase_gaze/all100",
            GAZEBASE | {VISIT: b"PK no zip"},
            ArchiveError,
            r"^GazeBase_v2_0: Round_1/Subject_1001\.zip is damaged or incomplete",
        ),
        (
            "ltmm_gait",  # this process raises the error, after all workers have finished
            LTMM | {"ltmm/CO030.dat": LTMM["ltmm/CO001.dat"]},
            ArchiveError,
            r"^ltmm: CO0\d\d\.hea .* and CO0\d\d\.hea .* have the same content, so one",
        ),
    ],
    ids=["cut samples", "broken visit", "a copy"],
)
def test_a_broken_recording_is_told_as_without_beam(name, files, kind, message, pipeline, tmp_path):
    told = []
    for options in (None, pipeline):
        with pytest.raises(kind, match=message) as caught:
            prepare(tmp_path, name, files, options)
        told.append(str(caught.value))
        assert not (tmp_path / "data").exists()
    assert told[0] == told[1]


@needs_beam
@pytest.mark.slow
def test_another_failure_of_beam_is_told_in_a_line(pipeline, tmp_path, monkeypatch):
    """Tests an error of Beam. Two records have the same key, and TFDS raises the error when it
    writes the records.
    """
    monkeypatch.setattr(
        "tfds_builders.ltmm_gait.ltmm_gait_dataset_builder._windows", _two_of_one_key
    )
    with pytest.raises(PipelineError, match="^Apache Beam failed: .*share the same hashed key!"):
        prepare(tmp_path, "ltmm_gait/lab", LTMM, pipeline)
    assert not (tmp_path / "data").exists()


def _two_of_one_key(subject, digital, header, config):
    for _ in range(2):
        yield subject, 0, np.zeros((1, 6), np.float32)


@needs_beam
def test_the_command_prepares_on_beam_and_tells_a_broken_recording_last(tmp_path):
    arguments = (
        "ltmm_gait/lab", "--data-dir", tmp_path / "data", "--file-format", "array_record",
        "--json", "--beam", "--beam-options", "runner=FnApiRunner", "--manual-dir",
    )  # fmt: skip
    broken = LTMM | {"ltmm/LabWalks/co030_base.dat": b"\0"}
    result = run(*arguments, samples.write(tmp_path / "broken", broken))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(
        "Error: ltmm_gait: LabWalks/co030_base.dat: the file has 1 bytes, "
    )
    result = run(*arguments, samples.write(tmp_path / "manual", LTMM))
    assert result.exit_code == 0, result.output
    assert sum(json.loads(result.stdout)["examples"].values()) == len(inertial.ELDERS)


@needs_beam
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("direct_num_workers=many", "direct_num_workers: invalid int value: 'many'"),
        ("runner=Nobody", "Unexpected pipeline runner: Nobody"),
    ],
)
def test_options_that_beam_refuses_are_told_in_a_line(options, message, tmp_path):
    manual = samples.write(tmp_path / "manual", LTMM)
    arguments = ("--manual-dir", manual, "--data-dir", tmp_path / "d", "--beam")
    result = run("ltmm_gait/lab", *arguments, "--beam-options", options)
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "usage: " not in result.stderr  # start of Beam's list of all options


@needs_beam
def test_the_options_on_the_page_are_options_of_beam(caplog):
    page = pathlib.Path(tfds_builders.__file__).with_name("README.md").read_text()
    written = re.findall(r"--beam-options (\S+=\S+)", page)
    runners = {options_of(text).get_all_options()["runner"] for text in written}
    assert runners == {"DirectRunner", "FlinkRunner", "SparkRunner", "DataflowRunner"}
    assert "Discarding" not in caplog.text


def test_the_large_data_sets_are_those_that_can():
    can = [
        name for name in tfds_builders.list_builders() if tfds_builders.builder_cls(name).ON_BEAM
    ]
    assert can == ["aalto_keystrokes", "gazebase_gaze", "ltmm_gait", "voxceleb_verification"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ipol_gait", "--beam"), "--beam does not support ipol_gait. It supports only "
         "aalto_keystrokes, gazebase_gaze, ltmm_gait, voxceleb_verification. Leave --beam out."),
        (("ltmm_gait", "--beam-options", "runner=FlinkRunner"), "--beam-options needs --beam"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    told = result.stderr.replace("│", " ")
    assert message in " ".join(told.split())


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    monkeypatch.delitem(sys.modules, "tfds_builders.common.beam_jobs", raising=False)
    monkeypatch.delattr("tfds_builders.common.beam_jobs", raising=False)
    result = run("ltmm_gait", "--beam")
    assert result.exit_code == 2
    assert 'pip install "keras-dml[beam]"' in result.stderr.replace("│", " ")


@pytest.mark.slow
def test_without_the_option_beam_is_not_imported(tmp_path):
    manual = samples.write(tmp_path / "manual", LTMM)
    program = (
        "import sys; from tfds_builders import reading; "
        f"reading.prepared('ltmm_gait/lab', {str(manual)!r}, {str(tmp_path / 'd')!r}); "
        "print(*{'apache_beam', 'tensorflow'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "", done.stderr
