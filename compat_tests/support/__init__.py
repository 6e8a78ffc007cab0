"""Support of the scenarios: the official peers, both servers, and the code that connects them.

``artifacts`` fetches jars and modules and compiles the programs of ``java/`` and ``go/``; ``containers`` and
``runtime`` choose where clients run; ``servers`` starts the two servers; ``driver`` is the official Java
client as Python objects, ``golang`` the Go client and ``mqadmin`` the official tool; ``peers`` combines a
server and a client for a scenario; ``overlap`` runs scenarios that wait in parallel; ``record`` lists the
scenarios that need not run on Apache's server again.
"""
