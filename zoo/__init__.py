"""Recipes of the zoo's models, one folder per model; run a recipe as `python -m
zoo.<name>.train`.
"""
