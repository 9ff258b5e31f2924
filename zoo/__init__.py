"""Recipes of the zoo's models, one folder a model; run one as `python -m zoo.<name>.train
--help`."""
