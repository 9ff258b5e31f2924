"""The papers' experiments on arrays: what is run, kept, put into tables and drawn."""
