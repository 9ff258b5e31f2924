"""Writes a web page that tries three models of the zoo in the browser. The licenses of these models
allow the use in products.

The page recognizes people by how they walk, from the motion sensors of a phone or from files of a
phone or of a watch. It also recognizes people by their voices, from the microphone or WAV files.
The thresholds come from the cards of the models. npm downloads LiteRT.js, which runs the models.

    python -m export.web_demo --out site
    python -m http.server --directory site      # then open http://localhost:8000

Phones allow motion sensors and the microphone only over HTTPS.
"""

import argparse
import pathlib

MODELS = ("pocket_lda", "watch_lda", "voice_ge2e")


def main(arguments: list[str] | None = None) -> None:
    """Runs the script.

    Args:
        arguments: Command-line arguments. Default: the arguments of the process.
    """
    command = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("models", nargs="*", metavar="MODEL", default=MODELS, help="zoo models")
    command.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("site"), help="folder of the page"
    )
    command.add_argument(
        "--npm-packages",
        type=pathlib.Path,
        help="folder in which `npm install @litertjs/core` ran (default: npm downloads it)",
    )
    options = command.parse_args(arguments)

    from keras_dml import gallery

    result = gallery.export_web(list(options.models), options.out, packages=options.npm_packages)
    print(f"{result.path}: {', '.join(result.models)}; {result.bytes / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
