"""A classifier of small photographs of ten classes."""
