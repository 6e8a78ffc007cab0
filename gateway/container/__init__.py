"""The broker container: one parent process, and one process for each broker that it runs.

- `plan`: what a broker's file says of it, and why a container does not take it
- `supervision`: what becomes of brokers that start, run and end; pure, moved by a clock
- `children`: the processes and what is said between them and the parent
- `requests`: what administration asks the container
- `service`: the container as it runs: sockets, timers, children

The child's side is `gateway.cli.container_broker`. Standard: module `container`.
"""
