"""Template of a package with data sets. Copy this folder, then rename `my_walks`."""
