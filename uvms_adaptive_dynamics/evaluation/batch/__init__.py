"""Many recordings: planned, run in processes or on a cluster, kept by content, in one table.

`plan` says what is run, `task` runs one, `executors` runs all, `store` keeps what is done, `table`,
`page` and `compare` make what is read of it; `command` is the command line.
"""
