"""Recipe of `keystroke_lda`, a model that recognizes people by how they type."""
