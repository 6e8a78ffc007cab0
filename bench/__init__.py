"""Side by side with Apache's broker in one run.

`python -m bench NAME` runs a benchmark, and `--help` lists them; `frame` has their shared options, files
of figures and sections of the page. Without a name it runs `messages`, which alternates between two servers:
`rows` says what is measured and what is aimed at, `measure` takes CPU time and memory of a server from the
operating system, `run` drives one row on one server with the official client, `rest` watches idle servers
(`idle` is their clients), `report` makes medians, ratios and the tables, `aims` compares figures with their
limits, `results` keeps them in a file.

`curves` varies one parameter (`picture` draws it), `floor` measures the rate that no server can exceed
(`echo` is a server that only answers), `micro` measures single steps in one process, `commands` calls of
commands. The work of `micro` is made of `requests`, the broker of `in_process`, and `steps`; `pairs` has the
runs and ratios of benchmarks with two sides.
"""
