"""Defines settings of an experiment as a dataclass. The command of the experiment has an option for
each field.
"""

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

SMOKE = "smoke"  # the scale that only shows that an experiment runs


class SettingError(ValueError):
    """An invalid setting.

    Attributes:
        name: Name of the setting.
        reason: Text of the error without the name of the setting.
    """

    def __init__(self, name: str, reason: str):
        super().__init__(f"`{name}`: {reason}")
        self.name, self.reason = name, reason


def setting(
    help: str,
    *,
    default: Any = dataclasses.MISSING,
    minimum: float | None = None,
    choices: tuple[str, ...] = (),
    none: str | None = None,
    option: str | None = None,
) -> Any:
    """Returns a field for a subclass of `ExperimentSettings`.

    Args:
        help: Text of the option on the help page.
        default: Default value of the field. A field without a default value is required.
        minimum: Smallest allowed number.
        choices: Allowed texts. If `choices` is empty, every text is allowed.
        none: Word that users type on the command line to set the field to None.
        option: Name of the option. Default: derived from the name of the field.
    """
    metadata = {
        "help": help,
        "minimum": minimum,
        "choices": choices,
        "none": none,
        "option": option,
    }
    return dataclasses.field(default=default, metadata=metadata, kw_only=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExperimentSettings:
    """Base class for the settings of an experiment. The constructor checks every field.

    Raises:
        SettingError: If a number is too small, if a list is empty, or if a text is not one of the
            choices.
    """

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if field.metadata:
                _check(field, getattr(self, field.name))


def _check(field, value):
    minimum, choices = field.metadata["minimum"], field.metadata["choices"]
    if value is None:
        if field.metadata["none"] is None:
            raise SettingError(field.name, "Received None. Give a value.")
        return
    values = value if isinstance(value, tuple) else (value,)
    if not values:
        raise SettingError(field.name, "Received no value. Give at least one value.")
    for item in values:
        if minimum is not None and not item >= minimum:
            raise SettingError(
                field.name, f"Received {item}. Give a number that is at least {minimum:g}."
            )
        if choices and item not in choices:
            raise SettingError(
                field.name, f"Received {item!r}. Give one of {', '.join(map(repr, choices))}."
            )


def option_name(field: dataclasses.Field) -> str:
    """Returns the name of the option for a field, such as `--learning-rates`."""
    return field.metadata["option"] or "--" + field.name.replace("_", "-")


def command_options(
    settings: ExperimentSettings, scales: Mapping[str, ExperimentSettings]
) -> tuple[str, str]:
    """Returns the name of the scale that is most similar to `settings`, and the options that turn
    this scale into `settings`.

    Args:
        settings: The settings.
        scales: Named settings of the same class.
    """
    differences = {
        name: [
            field
            for field in dataclasses.fields(settings)
            if field.metadata and getattr(settings, field.name) != getattr(scale, field.name)
        ]
        for name, scale in scales.items()
    }
    scale = min(differences, key=lambda name: len(differences[name]))
    words = ["--scale", scale]
    for field in differences[scale]:
        value = getattr(settings, field.name)
        if _is_repeated(field) and value is not None:
            words += [word for item in value for word in (option_name(field), f'"{item}"')]
        else:
            words += [option_name(field), _text(field, value)]
    return scale, " ".join(words)


def _text(field, value):
    """Returns a value in the form that users type on the command line."""
    if value is None:
        return field.metadata["none"]
    return ",".join(map(_text_of_one, value)) if isinstance(value, tuple) else _text_of_one(value)


def _text_of_one(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_options(
    settings_class: type[ExperimentSettings], scales: Mapping[str, ExperimentSettings]
) -> Callable:
    """Returns a decorator that replaces the argument `settings` of a command by options.

    The options are `--scale` and one option per field. If a user passes an option, its value
    replaces the field of the scale.

    Args:
        settings_class: Class of the settings.
        scales: Named settings of this class.
    """
    fields = {field.name: field for field in dataclasses.fields(settings_class) if field.metadata}

    def decorate(command):
        signature = inspect.signature(command)

        @functools.wraps(command)
        def command_with_options(*, scale, **arguments):
            values = {name: arguments.pop(name) for name in fields}
            changes = {
                name: _value(fields[name], value)
                for name, value in values.items()
                if value is not None
            }
            if scale not in scales:
                raise typer.BadParameter(
                    f"Received {scale!r}. Give one of {', '.join(scales)}.", param_hint="--scale"
                )
            try:
                settings = dataclasses.replace(scales[scale], **changes)
                return command(settings=settings, **arguments)
            except SettingError as error:
                hint = option_name(fields[error.name])
                raise typer.BadParameter(error.reason, param_hint=hint) from error

        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for name, parameter in signature.parameters.items()
            if name != "settings"
        ]
        parameters.append(_scale_parameter(scales))
        parameters += [_parameter(field, scales) for field in fields.values()]
        command_with_options.__signature__ = signature.replace(parameters=parameters)
        command_with_options.__annotations__ = {
            parameter.name: parameter.annotation for parameter in parameters
        }
        return command_with_options

    return decorate


def _scale_parameter(scales):
    default = list(scales)[1]
    text = (
        f"Name of a set of values for all settings: {', '.join(scales)}. The options below change "
        "single values."
    )
    annotation = Annotated[str, typer.Option("--scale", help=text, metavar="|".join(scales))]
    return inspect.Parameter(
        "scale", inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _parameter(field, scales):
    values = [_text(field, getattr(scale, field.name)) or "all" for scale in scales.values()]
    default = values[0] if len(set(values)) == 1 else " | ".join(values)
    kind = list[str] if _is_repeated(field) else str
    annotation = Annotated[
        kind | None,
        typer.Option(
            option_name(field),
            help=field.metadata["help"],
            metavar=_metavar(field),
            show_default=default,
        ),
    ]
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _value(field, text):
    """Returns the value of a field. The argument `text` is the text or the list of texts that a
    user passed for the option.
    """
    if text == field.metadata["none"]:
        return None
    if isinstance(text, list):
        return tuple(text)
    base, is_tuple = _kind(field)
    parts = text.split(",") if is_tuple else [text]
    try:
        values = tuple(base(part) for part in parts)
    except ValueError as error:
        form = f"numbers in the form {_metavar(field)}" if is_tuple else "a number"
        hint = option_name(field)
        raise typer.BadParameter(f"Received {text!r}. Give {form}.", param_hint=hint) from error
    return values if is_tuple else values[0]


def _is_repeated(field):
    """Returns whether users repeat the option for each value. Repeating the option is necessary if
    the values are names, because names can contain commas.
    """
    return _kind(field) == (str, True)


def _metavar(field):
    base, is_tuple = _kind(field)
    if field.metadata["choices"]:
        return "|".join(field.metadata["choices"])
    name = {int: "N", float: "X", str: "NAME"}[base]
    text = f"{name},{name},..." if is_tuple and base is not str else name
    return f"{text}|{field.metadata['none']}" if field.metadata["none"] else text


def _kind(field):
    """Returns the type of a field's values, and whether the field is a tuple of such values."""
    kind = field.type
    if isinstance(kind, types.UnionType):
        (kind,) = (member for member in typing.get_args(kind) if member is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        return typing.get_args(kind)[0], True
    return kind, False
