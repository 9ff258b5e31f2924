"""Copies LiteRT.js, which runs .tflite files in browsers, from npm into a folder."""

import pathlib
import shutil
import subprocess
import tempfile

from keras_dml._messages import Message
from keras_dml._typing import Path

VERSION = "2.5.3"
CORE, UTILS = "@litertjs/core", "@litertjs/wasm-utils"
# The build without relaxed SIMD runs in all browsers, and gives the same numbers on all of them.
RUNTIME = "litert_wasm_compat_internal"
# Names of the copies, and the files of the packages.
FILES = {
    "index.js": f"{CORE}/dist/index.js",
    "wasm-utils.js": f"{UTILS}/dist/index.js",
    f"{RUNTIME}.js": f"{CORE}/wasm/{RUNTIME}.js",
    f"{RUNTIME}.wasm": f"{CORE}/wasm/{RUNTIME}.wasm",
}
ADVICE = "Install Node.js (https://nodejs.org), which contains npm."
SECONDS = 600  # longest time to download the packages


def copy(folder: pathlib.Path, packages: Path | None = None) -> None:
    """Copies the files of LiteRT.js to a new folder.

    The import between the two packages is replaced by a relative path, so that a page needs no
    bundler and no import map.

    Args:
        folder: Path of the new folder.
        packages: Folder in which `npm install @litertjs/core` ran. Default: npm downloads the
            packages.

    Raises:
        FileNotFoundError: If npm is not installed, or if `packages` does not contain LiteRT.js.
        RuntimeError: If npm cannot download the packages.
        ValueError: If `packages` contains another version of LiteRT.js.
    """
    if packages is not None:
        _copy(_modules(pathlib.Path(packages)), folder)
        return
    with tempfile.TemporaryDirectory() as downloads:
        _download(downloads)
        _copy(pathlib.Path(downloads, "node_modules"), folder)


def check(packages: Path | None) -> None:
    """Checks that `copy` can find npm or the packages, without copying anything.

    Raises:
        FileNotFoundError, ValueError: In the same cases as `copy`.
    """
    if packages is not None:
        _modules(pathlib.Path(packages))
    elif shutil.which("npm") is None:
        raise FileNotFoundError(
            Message(
                "A page needs LiteRT.js from npm, but npm is not installed. {advice} Or set "
                "{packages} to a folder in which `npm install {core}@{version}` ran.",
                advice=ADVICE,
                core=CORE,
                version=VERSION,
            )
        )


def _download(folder):
    check(None)
    command = [shutil.which("npm"), "install", "--prefix", folder, "--ignore-scripts", "--no-audit"]
    packages = [f"{CORE}@{VERSION}", f"{UTILS}@{VERSION}"]
    reason = f"no answer within {SECONDS} s"
    try:
        process = subprocess.run(
            [*command, "--no-fund", *packages], capture_output=True, text=True, timeout=SECONDS
        )
        if not process.returncode:
            return
        reason = (process.stderr.strip().splitlines() or [f"status {process.returncode}"])[0]
    except subprocess.TimeoutExpired:
        pass
    raise RuntimeError(
        Message(
            "npm cannot download {core} {version}: {reason}. Check the network, or set {packages} "
            "to a folder in which `npm install {core}@{version}` ran.",
            core=CORE,
            version=VERSION,
            reason=reason,
        )
    )


def _modules(packages):
    """Returns the folder `node_modules` that contains the packages."""
    from keras_dml.zoo import catalog

    for modules in (packages / "node_modules", packages):
        if not all((modules / source).is_file() for source in FILES.values()):
            continue
        version = catalog.read_json(modules / CORE / "package.json").get("version")
        if version != VERSION:
            raise ValueError(
                Message(
                    "{packages} contains {core} {received}, but the page needs {expected}. Run "
                    "`npm install {core}@{expected}` in this folder.",
                    core=CORE,
                    received=version,
                    expected=VERSION,
                )
            )
        return modules
    raise FileNotFoundError(
        Message(
            "{packages} is {value!r}, but this folder does not contain {core}. Run `npm install "
            "{core}@{version}` in this folder.",
            value=str(packages),
            core=CORE,
            version=VERSION,
        )
    )


def _copy(modules, folder):
    folder.mkdir()
    for name, source in FILES.items():
        if name.endswith(".wasm"):
            shutil.copyfile(modules / source, folder / name)
            continue
        text = (modules / source).read_text(encoding="utf-8")
        text = text.replace(f'from "{UTILS}"', 'from "./wasm-utils.js"')
        text = text.partition("//# sourceMappingURL=")[0]  # the map is not copied
        (folder / name).write_text(text, encoding="utf-8")
