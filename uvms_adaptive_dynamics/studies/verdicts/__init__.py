"""`verdicts`: is `good` said of good recordings, and of no spoilt one?

case (what is recorded, and whether `good` is right) <- tables (development, final) -> trial (made,
evaluated, judged) -> command (count, table, JSON)
"""
