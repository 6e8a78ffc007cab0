"""Test suites of Kafka clients, unmodified, run against a server outside their process.

``franz`` runs the tests of franz-go's package ``kgo``, ``librdkafka`` the tests of the C client, ``kafka``
those of Kafka's own clients and commands, on this server only; ``table`` shows what they do. ``outcomes``
has the tables of what each test should do (``expected/<kind of server>/*.tsv``): it passes, it fails or skips
itself for a reason, or it is left out. A new failure is a difference, and so is an unexpected pass.

    python -m compat_tests.kafka.suites ours franz-go             # all tests against this server
    python -m compat_tests.kafka.suites apache franz-go           # all tests against Apache Kafka
    python -m compat_tests.kafka.suites ours librdkafka 0011 0055 # two tests
    python -m compat_tests.kafka.suites ours franz-go --record    # write what came of them to the table
"""
