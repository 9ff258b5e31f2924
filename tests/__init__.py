"""The tests; a package, so that `tests.goldens` is not looked for in site-packages."""
