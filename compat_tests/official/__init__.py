"""Apache's own integration tests (``rocketmq-test`` 5.5.0), run against servers outside their JVM.

``classes`` names them all and says which cannot run here; ``cluster`` is what they run against, ``lane`` one
JVM that runs them one after the other, ``run`` several lanes at once, ``results`` what came of it, ``table``
what ``docs/compatibility.md`` says of it. The Java side is ``java/official``: classes named like the two base
classes of the tests stand before them on the class path and hand out the servers' addresses.

    python -m compat_tests.official ours             # all of them against this server
    python -m compat_tests.official apache --record  # against Apache's, for the table and as the judge
"""
