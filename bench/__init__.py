"""Side by side with Apache's broker in one run.

`python -m bench NAME` runs a benchmark, `--help` lists them. `messages` does so if none is named:
`rows` says what is measured and what is aimed at, `measure` takes CPU time and memory of a server from the
operating system, `run` drives one row on one server with the official client, `rest` watches servers that
nobody asks for anything (`idle` is their clients), `report` makes medians, ratios and the tables, `aims`
compares figures with their limits, `results` keeps them in a file. `python -m bench` does all of it,
alternating between the two servers.

`curves` lets one thing grow (`picture` draws it), `floor` measures what no server can be faster than (`echo`
is a server that only answers), `micro` measures single steps in one process, `commands` calls of commands.
"""
