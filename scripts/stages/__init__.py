"""The test command: what `scripts/test` runs in which stage, side by side, and how it reports.

Only the standard library is used, as this runs before any environment exists. `plan` has the stages,
`machine` the programs they need, `environments` the tox environments, `runner` runs and reports, `long_run`
records the result of `--long`.
"""
