"""Parts of models that others ask for."""


def encoder(model):
    """The part of a model that gives embeddings: that of a classifier or a trainer, or itself."""
    return getattr(model, "encoder", model)
