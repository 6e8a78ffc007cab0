"""What the scenarios stand on and is no test: the official peers, both servers, and what joins them.

``artifacts`` fetches jars and modules and compiles the programs of ``java/`` and ``go/``; ``containers`` and
``runtime`` decide where clients run; ``servers`` starts the two servers; ``driver`` is the official Java
client as Python objects, ``golang`` the Go client and ``mqadmin`` the official tool; ``peers`` brings a
server and a client together for a scenario; ``overlap`` lets scenarios that wait wait at the same time;
``record`` knows what need not be run on Apache's server again.
"""
