"""Tests that FLAC files, and WAVE files that many programs have written, are read correctly."""

import struct
import sys

import numpy as np
import pytest
import scipy.io.wavfile

from keras_dml import recordings

WAVE = 0.5 * np.sin(np.arange(400) / 10)
ENDLESS = "The header does not state the length of the audio, so the file was read to its end."
DIVIDED = "The floats are whole numbers in the range of 16 bits and were divided by 32768."
# One code word for each sign and segment in the tables of ITU-T G.711, with its 16-bit value.
MU_LAW = {0xFF: 0, 0x7F: 0, 0xFE: 8, 0x7E: -8, 0x80: 32124, 0x00: -32124, 0xF0: 120, 0xEF: 132,
          0xDF: 396, 0x1F: -8316, 0x0F: -16764}  # fmt: skip
A_LAW = {0xD5: 8, 0x55: -8, 0xD4: 24, 0xAA: 32256, 0x2A: -32256, 0xC5: 264, 0xF5: 528, 0x80: 5504}


def chunk(name, content, order="<", size=None):
    size = len(content) if size is None else size
    return name + struct.pack(f"{order}I", size) + content + b"\0" * (len(content) % 2)


def form(tag, rate=8000, channels=1, width=2, order="<", bits=None):
    block = channels * width
    bits = 8 * width if bits is None else bits
    return struct.pack(f"{order}HHIIHH", tag, channels, rate, rate * block, block, bits)


def extensible(tag, width, rate=8000, bits=None):
    guid = struct.pack("<H", tag) + bytes.fromhex("000000001000800000aa00389b71")
    more = struct.pack("<HHI", 22, bits or 8 * width, 4) + guid
    return form(0xFFFE, rate, 1, width) + more


def riff(form, samples, *, before=b"", after=b"", kind=b"RIFF", order="<", size=None, whole=None):
    data = chunk(b"data", samples, order, size)
    content = b"WAVE" + before + chunk(b"fmt ", form, order) + data + after
    return kind + struct.pack(f"{order}I", len(content) if whole is None else whole) + content


def int24(values):
    return b"".join(int(value).to_bytes(3, "little", signed=True) for value in values)


INT16 = (WAVE * 32767).astype("<i2")
SAMPLES = INT16.tobytes()


@pytest.fixture
def read(tmp_path):
    def read(content, channels=None, name="voice.wav", **options):
        path = tmp_path / name
        path.write_bytes(content)
        return recordings.read(path, channels, **options)

    return read


@pytest.mark.parametrize(
    "content",
    [
        riff(form(1), SAMPLES),
        riff(form(1) + b"\0\0", SAMPLES),
        riff(form(1, width=3), int24(WAVE * (2**23 - 1))),
        riff(form(1, width=4), (WAVE * (2**31 - 1)).astype("<i4").tobytes()),
        riff(form(1, width=1), (128 + WAVE * 127).astype("u1").tobytes()),
        riff(form(3, width=4), WAVE.astype("<f4").tobytes()),
        riff(form(3, width=8), WAVE.astype("<f8").tobytes()),
        riff(extensible(1, 2), SAMPLES),
        riff(extensible(1, 3), int24(WAVE * (2**23 - 1))),
        riff(extensible(1, 4, bits=24), (WAVE * (2**31 - 1)).astype("<i4").tobytes()),
        riff(extensible(3, 4), WAVE.astype("<f4").tobytes()),
        riff(form(1), SAMPLES, before=chunk(b"LIST", b"INFOabc")),
        riff(form(1), SAMPLES, after=chunk(b"id3 ", b"abc")),
        riff(form(1), SAMPLES, whole=0),
        riff(form(1, order=">"), INT16.astype(">i2").tobytes(), kind=b"RIFX", order=">"),
        riff(
            form(1),
            SAMPLES,
            kind=b"RF64",
            size=2**32 - 1,
            whole=2**32 - 1,
            before=chunk(b"ds64", struct.pack("<QQQI", 0, len(SAMPLES), len(SAMPLES) // 2, 0)),
            after=chunk(b"LIST", b"INFO"),
        ),
    ],
)
def test_a_wave_is_read_in_each_form(read, content):
    voice = read(content)
    np.testing.assert_allclose(voice.values[:, 0], WAVE, rtol=0, atol=0.012)
    assert (voice.channels, voice.rate_hz, voice.notes) == (("sound",), 8000, ())


@pytest.mark.parametrize("bits", [16, 24, 32, "float32", "float64"])
def test_scipy_reads_the_same_samples(tmp_path, bits):
    rng = np.random.default_rng(0)
    path = tmp_path / "voice.wav"
    if bits == 24:
        path.write_bytes(riff(form(1, width=3), int24(rng.integers(-(2**23), 2**23, 500))))
        full = 2.0**31  # SciPy shifts samples of 24 bits to the upper bits of 32
    else:
        kind = np.dtype(bits if isinstance(bits, str) else f"int{bits}")
        full = 1.0 if kind.kind == "f" else 2.0 ** (bits - 1)
        values = rng.uniform(-1, 1, (500, 2)) * (full if full == 1 else full - 1)
        scipy.io.wavfile.write(path, 16_000, values.astype(kind))
    _, expected = scipy.io.wavfile.read(path)
    expected = expected.reshape(500, -1) / full
    np.testing.assert_array_equal(recordings.read(path).values, expected.astype(np.float32))


@pytest.mark.parametrize(("tag", "words"), [(7, MU_LAW), (6, A_LAW)], ids=["mu-law", "A-law"])
@pytest.mark.parametrize("is_extensible", [False, True])
def test_companded_sound_has_the_values_of_its_standard(read, tag, words, is_extensible):
    header = extensible(tag, 1) if is_extensible else form(tag, width=1) + b"\0\0"
    voice = read(riff(header, bytes(words)))
    np.testing.assert_array_equal(voice.values[:, 0] * 32768, [*words.values()])


@pytest.mark.parametrize("tag", [6, 7])
def test_libsndfile_reads_the_same_companded_sound(tmp_path, tag):
    soundfile = pytest.importorskip("soundfile")
    path = tmp_path / "voice.wav"
    path.write_bytes(riff(form(tag, width=1) + b"\0\0", bytes(range(256))))
    expected, _ = soundfile.read(path)
    np.testing.assert_array_equal(recordings.read(path).values[:, 0], expected.astype(np.float32))


@pytest.mark.parametrize("tag", [6, 7])
def test_companded_values_rise_with_their_code_words(read, tag):
    """Tests all 256 code words of mu-law and A-law. The decoded values must be symmetric and within
    full scale.
    """
    words = np.arange(256, dtype=np.uint8)
    codes = words ^ (0x55 if tag == 6 else 0xFF)
    values = read(riff(form(tag, width=1), words.tobytes())).values[:, 0]
    is_upper = codes >= 128
    signs = (1, -1) if tag == 6 else (-1, 1)
    for sign, rows in zip(signs, (is_upper, ~is_upper), strict=True):
        sizes = sign * values[rows][np.argsort(codes[rows])]
        assert (np.diff(sizes) > 0).all() and 0 <= sizes[0] and 0.95 < sizes[-1] < 1


@pytest.mark.parametrize("size", [0, 2**32 - 1, 2**32 - 37, 2**31 - 1, 2**31, 2**31 - 37])
@pytest.mark.parametrize("torn", [b"", b"\1"])
def test_sound_without_a_length_in_its_header_ends_with_the_file(read, size, torn):
    """Tests WAVE files without a length in the header: `ffmpeg -f wav -` writes 0xFFFFFFFF, and
    other programs write 0."""
    before = chunk(b"LIST", b"INFOISFT\x0e\0\0\0Lavf59.27.100\0")
    content = riff(form(1), SAMPLES, size=size, whole=2**32 - 1, before=before) + torn
    voice = read(content)
    np.testing.assert_array_equal(voice.values[:, 0], INT16 / np.float32(32768))
    assert voice.notes == (ENDLESS,)


@pytest.mark.parametrize(
    "last", [chunk(b"id3 ", b"abcd"), chunk(b"id3 ", b"abc"), chunk(b"id3 ", b"abc")[:-1]]
)
def test_an_empty_sound_before_other_chunks_is_empty(read, last):
    content = riff(form(1), b"", after=chunk(b"LIST", b"INFO") + last)
    with pytest.raises(ValueError, match="holds no steps"):
        read(content)


@pytest.mark.parametrize("name", [b"LIS\x1f", b"LIS\x7f", b"\0IST"])
def test_bytes_without_a_printable_name_are_sound_and_not_a_chunk(read, name):
    assert read(riff(form(1), b"", after=chunk(name, b"INFO"))).notes == (ENDLESS,)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (
            riff(form(1), SAMPLES)[:-10],
            "states 800 bytes of audio, but the file has 790",
        ),
        (riff(form(1), SAMPLES, size=2**30), "the header of the file states"),
        (riff(form(1), SAMPLES)[:30], "cut"),
        (riff(form(2), SAMPLES), "format 2"),
        (riff(form(0x55, width=1), SAMPLES), "format 85"),
        (riff(form(3, width=2), SAMPLES), "format 3 with 16 bits"),
        (riff(form(1, width=1, bits=16), SAMPLES), "states 16 bits and 1 bytes per sample"),
        (riff(form(1, channels=0), SAMPLES), "0 channels"),
        (riff(form(1, rate=0), SAMPLES), "0 Hz"),
        (riff(form(1), b"abc"), "not a multiple of 2"),
        (riff(b"\1\0", SAMPLES), "how samples are stored"),
        (b"RIFF\0\0\0\0WAVE" + chunk(b"data", SAMPLES), "how samples are stored"),
        (b"OggS", "does not begin with the header of a WAVE file"),
        (b"", "does not begin with the header of a WAVE file"),
    ],
)
def test_the_error_about_an_invalid_wave_file_gives_the_reason(read, content, part):
    with pytest.raises(ValueError, match="voice.wav is not a complete WAVE file") as caught:
        read(content)
    assert part in str(caught.value)


def floats(values):
    return riff(form(3, width=4), np.asarray(values, "<f4").tobytes())


@pytest.mark.parametrize("peak", [256, 1000, 16_383, 32_767, 32_768])
def test_floats_that_hold_integers_are_divided(read, peak):
    wave = np.round(peak * np.sin(np.arange(400) / 10))
    wave[7] = -peak
    voice = read(floats(wave))
    np.testing.assert_allclose(voice.values[:, 0], wave / 32768, rtol=1e-6)
    assert voice.notes == (DIVIDED,)


@pytest.mark.parametrize("peak", [0.01, 1, 1.5, 5.5, 10])
def test_floats_near_full_scale_do_not_change(read, peak):
    wave = peak * np.sin(np.arange(400) / 10)
    np.testing.assert_array_equal(read(floats(wave)).values[:, 0], wave.astype(np.float32))
    assert read(floats(np.sign(wave))).notes == ()


@pytest.mark.parametrize(
    "wave",
    [
        16_383.4 * np.sin(np.arange(400) / 10),
        10.1 * np.sin(np.arange(400) / 10),
        np.round(100 * np.sin(np.arange(400) / 10)),
        np.round(40_000 * np.sin(np.arange(400) / 10)),
        np.round(2**22 * np.sin(np.arange(400) / 10)),
    ],
)
def test_floats_far_beyond_full_scale_are_refused(read, wave):
    with pytest.raises(ValueError, match="the full scale of audio is 1"):
        read(floats(wave))


def test_the_error_about_floats_that_are_not_finite_names_the_sample(read):
    with pytest.raises(ValueError, match="sample 1: channel 'sound' is nan"):
        read(floats([0, np.nan, 3000]))
    with pytest.raises(ValueError, match="sample 2: channel 'sound' is inf"):
        read(floats([0, 1, np.inf]))


def stereo(left, right):
    samples = np.stack([left, right], 1)
    return riff(form(1, channels=2), (samples * 32767).round().astype("<i2").tobytes())


def test_several_channels_of_sound_are_averaged_for_a_model_of_voices(read):
    other = 0.25 * np.cos(np.arange(400) / 7)
    voice = read(stereo(WAVE, other), ["sound"])
    np.testing.assert_allclose(voice.values[:, 0], (WAVE + other) / 2, rtol=0, atol=1e-4)
    assert (
        voice.channels == ("sound",) and "The 2 channels of audio were averaged" in voice.notes[0]
    )
    both = read(stereo(WAVE, other))
    assert (both.channels, both.notes) == (("1", "2"), ())
    turned = read(stereo(WAVE, other), ["2", "1"])
    assert turned.channels == ("2", "1")
    np.testing.assert_array_equal(turned.values, both.values[:, ::-1])
    np.testing.assert_allclose(
        read(stereo(WAVE, other), ["2"]).values[:, 0], other, rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("constant", [0.0, 0.25])
def test_a_constant_channel_is_not_averaged(read, constant):
    for content in (stereo(WAVE, 0 * WAVE + constant), stereo(0 * WAVE + constant, WAVE)):
        voice = read(content, ["sound"])
        np.testing.assert_allclose(voice.values[:, 0], WAVE, rtol=0, atol=1e-4)
        assert voice.notes == ("Audio channels that are constant were left out.",)


def test_channels_that_cancel_each_other_are_refused(read):
    with pytest.raises(ValueError, match="cancel each other when averaged"):
        read(stereo(WAVE, -WAVE), ["sound"])


def flac(tmp_path, values, name="voice.flac", **options):
    soundfile = pytest.importorskip("soundfile")
    soundfile.write(tmp_path / name, values, 16_000, format="FLAC", **options)
    return tmp_path / name


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24"])
def test_flac_is_read_with_full_scale_one(tmp_path, subtype):
    path = flac(tmp_path, WAVE, subtype=subtype)
    voice = recordings.read(path, rate_hz=16_000)
    np.testing.assert_allclose(voice.values[:, 0], WAVE, rtol=0, atol=1e-4)
    assert (voice.channels, voice.rate_hz) == (("sound",), 16_000)
    two = recordings.read(flac(tmp_path, np.stack([WAVE, WAVE], 1)), ["sound"])
    np.testing.assert_allclose(two.values[:, 0], WAVE, rtol=0, atol=1e-4)


def test_truncated_or_foreign_flac_files_are_refused(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    whole = flac(tmp_path, np.random.default_rng(0).uniform(-0.5, 0.5, 20_000)).read_bytes()
    soundfile.write(tmp_path / "other.wav", WAVE, 16_000)
    path = tmp_path / "voice.flac"
    for content in (
        whole[: len(whole) // 2],
        whole[:30],
        b"",
        (tmp_path / "other.wav").read_bytes(),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="voice.flac is not a complete FLAC file"):
            recordings.read(path)


def test_without_soundfile_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "soundfile", None)
    (tmp_path / "voice.flac").write_bytes(b"fLaC")
    with pytest.raises(ImportError, match=r'pip install "keras-dml\[flac\]"'):
        recordings.read(tmp_path / "voice.flac")
