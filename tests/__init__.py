"""Tests of keras-dml. They are a package, so that Python does not search for `tests.goldens` in
site-packages."""
