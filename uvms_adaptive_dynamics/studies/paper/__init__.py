"""`paper`: this package and the letter of the paper side by side, on any recordings
(docs/paper.md, "The comparison")."""
