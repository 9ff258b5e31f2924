"""Implements the command `keras-dml list`, which lists the trained models."""

from keras_dml.cli import _options


def run(as_json: _options.AsJson = False) -> None:
    """List the trained models with their task, input, error rates and license.

    The line "in products" says whether the licenses of the training data and of the weights allow
    the use of the model in products: yes, no, or ask (the authors of the data, or a lawyer).

    Example: keras-dml list
    """
    from keras_dml import zoo
    from keras_dml.cli import _console

    cards = {name: zoo.card(name) for name in zoo.list_models()}
    if as_json:
        _console.print_json({name: _summary(card) for name, card in cards.items()})
        return
    if not cards:
        raise ValueError(
            "No model was found. Install the released package, which contains the models, or name "
            "a folder of models in the environment variable KERAS_DML_ZOO."
        )
    rows = [(name, [*_lines(card)]) for name, card in cards.items()]
    _console.print_table((), rows, header=False)
    _console.echo("\nMore: keras-dml card NAME. In Python: keras_dml.zoo.load(NAME)")


def _lines(card):
    from keras_dml.zoo import catalog, products

    yield card["task"]
    yield f"{catalog.input_in_words(card)}, {card['model']['parameters']:,} parameters"
    yield from catalog.figures_in_words(card)
    yield f"license: {card['data']['licence']}"
    yield f"in products: {products.mark(card)}"


def _summary(card):
    from keras_dml.zoo import products

    return {
        "task": card["task"],
        "channels": card["input"]["channels"],
        "rate_hz": card["input"].get("rate_hz"),
        "parameters": card["model"]["parameters"],
        "figures": card["figures"],
        "licence": card["data"]["licence"],
        "in_products": products.mark(card),
    }
