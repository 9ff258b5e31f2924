"""Tests of keras-dml. This folder is a package, so that `import tests.goldens` never finds a
package in site-packages."""
