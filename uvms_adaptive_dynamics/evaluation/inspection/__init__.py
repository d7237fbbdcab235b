"""What a recording holds, and which settings fit it: all problems of it in one look."""
