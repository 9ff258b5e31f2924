"""The tests; a package, so that `tests.goldens` is this one and not a stray one of site-packages."""
