"""Recipes of the zoo's models, with one folder per model. Run a recipe as
`python -m zoo.<name>.train`.
"""
