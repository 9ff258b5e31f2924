"""What recordings of several channels say about each pair of them."""
