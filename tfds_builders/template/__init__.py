"""Template of a package of data sets: copy this folder, then rename `my_walks`."""
