"""Turns the main function of a recipe into a command. The command has the options that all recipes
share, and writes the figures, the card and the page.
"""

import dataclasses
import inspect
import json
import pathlib
import sys
from typing import Annotated

import typer

from keras_dml import inputs, layers, models, quality, training
from keras_dml.training import measure
from zoo import evidence, gates, page

Steps = Annotated[int, typer.Option(help="Training steps.")]
Seed = Annotated[int, typer.Option(help="Seed of the initial weights and the batches.")]
Out = Annotated[
    pathlib.Path | None,
    typer.Option(help="Folder for checkpoints and figures. Default: build/MODEL[_METHOD]_SEED."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint in --out.")]
Publish = Annotated[bool, typer.Option("--publish", help="Write model, card and page into zoo/.")]

# Entries of `zoo.evidence.Evidence.card` that are not arguments of `training.build_card`.
DECISIONS = "scoring", "imposters", "groups"


@dataclasses.dataclass
class Run:
    """A training run of a recipe.

    Attributes:
        name: Name of the model.
        folder: Folder of the model in the zoo.
        out: Folder of the run.
        steps: Training steps.
        seed: Seed of weights and batches.
        resume: Whether to continue from the checkpoint in `out`.
        publishes: Whether the trained model is published.
        options: Dictionary of other options of the command. The card lists them.
        minutes: Minutes that the training has taken so far.
    """

    name: str
    folder: pathlib.Path
    out: pathlib.Path
    steps: int
    seed: int
    resume: bool = False
    publishes: bool = False
    options: dict = dataclasses.field(default_factory=dict)
    minutes: float = 0.0

    def part(self, name):
        """Returns a run whose folder is a subfolder of `out`. The subfolder is created if it does
        not exist.
        """
        out = self.out / name
        out.mkdir(parents=True, exist_ok=True)
        return dataclasses.replace(self, out=out, minutes=0.0)

    def fit(self, model, batches, optimization, steps=None, **given):
        """Trains a model with `keras_dml.training.fit`, and adds the duration to `minutes`."""
        self.minutes += training.fit(
            model,
            batches,
            steps=self.steps if steps is None else steps,
            optimization=optimization,
            folder=self.out,
            resume=self.resume,
            **given,
        ).minutes

    def keep(self, figures):
        """Prints rows of figures, writes them to `figures.json` and to a page, and returns the
        rows.
        """
        training.write_json(self.out / measure.FIGURES, figures)
        page.write(self, figures)
        print(measure.summary(figures), flush=True)
        return figures

    def save(self, measured, caption):
        """Prints the figures of a `Measurement`, and writes the figures, the trials, the error
        curves and a page.
        """
        measured.save(self.out, caption)
        page.write(self, measured.figures, measured.headline, caption)
        print(measure.summary(measured.figures), flush=True)
        print(measure.headline_summary(measured.headline), flush=True)

    def publish(
        self,
        model,
        golden,
        measured,
        *,
        curves=measure.CURVES,
        about=None,
        recordings=None,
        baselines=None,
        groups=None,
        folds=(),
        controls=None,
        **card,
    ):
        """Publishes a trained model with the input contract that its card describes.

        The main result, the baselines and the thresholds are computed by `evidence.py` in the
        folder of the recipe if this file exists and `baselines` is None. If not, they are computed
        from the `Measurement`.

        Args:
            model: The model.
            golden: Inputs for the golden file, which stores these inputs and the model's outputs
                for them.
            measured: `Measurement`, or rows of figures.
            curves: Name of the image in `out` that the page shows, without its suffix. With None,
                the page shows no image.
            about: Static part of the card. None selects the `about.json` in the folder of the
                recipe.
            recordings: Training recordings. They should be as long as the recordings that the model
                will get. The training recordings determine the quality gate, see `zoo.gates`.
                Except for audio, they also determine the magnitudes in the input contract. Default:
                no gate and no magnitudes.
            baselines: Dictionary `{name: (what, kind, values)}` with the results of other methods
                on the trials of the `Measurement`, see `keras_dml.training.pooled.baseline`.
            groups: Groups of similar people, such as people of the same sex. A threshold is also
                measured within each group, because the group is a known confounder, see
                `keras_dml.training.pooled.thresholds`.
            folds: Models of the cross-validation, at most nine. The figures were measured with
                these models. The models of the folds are written into a subfolder of the model's
                folder.
            controls: Dictionary `{name: model}` with the models of other methods, which were
                trained on the same data. The controls are written into another subfolder of the
                model's folder.
            **card: Further arguments of `keras_dml.training.build_card`.
        """
        about = about_model(self.name) if about is None else about
        model = with_contract(model, about["input"], recordings)
        if folds:
            numbered = {f"fold_{i}": fold for i, fold in enumerate(folds, start=1)}
            evidence.save_beside(self.folder, evidence.FOLDS, numbered)
        if controls:
            evidence.save_beside(self.folder, evidence.CONTROLS, controls)
        measured_card, measures = None, evidence.find(self.name)
        if measures is not None and baselines is None:
            measured_card = measures(evidence.Trained(model, folds, controls))
        elif isinstance(measured, measure.Measurement):
            measured_card = evidence.Evidence(measured, lambda: baselines or {}, groups)
        if measured_card is not None:
            card = measured_card.card(about) | card
        # figures that `python -m zoo.measure` computes from the published files come first
        figures = card.pop("figures", getattr(measured, "figures", measured))
        options = {"seed": self.seed, **self.options, "steps": self.steps}
        words = " ".join(f"--{name} {value}" for name, value in options.items())
        command = f"python -m {evidence.module(self.name)}.train {words} --publish"
        record = training.training_record(command, seed=self.seed, minutes=self.minutes)
        decisions = {key: card.pop(key) for key in DECISIONS if key in card}
        card = training.build_card(about | decisions, figures=figures, recipe=record, **card)
        gate = None if recordings is None else gates.describe(card["input"], recordings)
        if gate is not None:
            card[quality.CARD_KEY] = gate
        image = None if curves is None else self.out / f"{curves}.png"
        training.publish(self.folder, model, card, golden, image)


def about_model(name):
    """Reads the static part of a model's card, `about.json` in the folder of the recipe."""
    return json.loads((evidence.folder(name) / "about.json").read_text(encoding="utf-8"))


def with_contract(model, described, recordings=None):
    """Adds an input contract to a model that takes recordings.

    Models with other inputs, and models that already have a contract, are returned unchanged.

    Args:
        model: The model.
        described: Entry `input` of the card.
        recordings: Training recordings. The contract stores the magnitudes of the training
            recordings, except for audio. None: the contract stores no magnitudes.
    """
    if "rate_hz" not in described or inputs.from_model(model).contract is not None:
        return model
    contract = input_contract(described)
    if recordings is not None and not gates.is_sound(described):
        contract.adapt(recordings)
    return models.with_contract(model, contract)


def input_contract(described):
    """Creates the layer `InputContract` that the entry `input` of a card describes."""
    low, high = described["length"]
    return layers.InputContract(
        described["channels"],
        described["units"],
        described["rate_hz"],
        min_steps=low,
        max_steps=high,
        events=described["rate_hz"] is None,
        name="input_contract",
    )


def command(steps):
    """Returns a decorator that turns the function `main(run, **options)` of a recipe into its
    command. The command has the options that all recipes share.

    Args:
        steps: Default value of `--steps`.
    """

    def decorate(main):
        shared = {
            "steps": (Steps, steps),
            "seed": (Seed, 0),
            "out": (Out, None),
            "resume": (Resume, False),
            "publish_model": (Publish, False),
        }
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [parameter.replace(kind=keyword) for parameter in _parameters(main)[1:]]
        signature = inspect.Signature(
            [
                *(
                    inspect.Parameter(name, keyword, default=default, annotation=kind)
                    for name, (kind, default) in shared.items()
                ),
                *parameters,
            ]
        )

        def recipe(**given):
            options = signature.bind(**given)
            options.apply_defaults()
            arguments = {
                parameter.name: options.arguments.pop(parameter.name) for parameter in parameters
            }
            file = sys.modules[main.__module__].__file__
            run = _new_run(file, arguments.get("method"), **options.arguments)
            main(run, **arguments)

        recipe.__name__, recipe.__doc__, recipe.__signature__ = "main", main.__doc__, signature
        recipe.__annotations__ = {
            parameter.name: parameter.annotation for parameter in signature.parameters.values()
        }
        return recipe

    return decorate


def _parameters(function):
    return list(inspect.signature(function).parameters.values())


def _new_run(file, method, *, steps, seed, out, resume, publish_model):
    folder = pathlib.Path(file).resolve().parent
    parts = folder.name, method, seed
    named = "_".join(str(part) for part in parts if part is not None)
    out = out or pathlib.Path("build") / named
    out.mkdir(parents=True, exist_ok=True)
    return Run(folder.name, folder, out, steps, seed, resume, publish_model)
