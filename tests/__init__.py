"""Tests of keras-dml, which are a package so that Python does not search for `tests.goldens` in
site-packages."""
