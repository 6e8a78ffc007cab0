"""`mqadmin` without a JVM: the standard's commands by name, options and text, over blocking sockets.

    declaration   what a command is: name, options, what it does, how its rows are shown; `commands` has them
    parsing       arguments of a command line to what was given, as the standard's reader takes them
    times         times as they are typed
    usage         the help of a command, laid out as the standard's
    rendering     rows as the standard's text, or as JSON
    connection    one request at a time over a blocking socket
    servers       whom a command asks: name servers, masters of a cluster, brokers of a topic
    profiles      servers and credentials under a name, in a file of the user's
    static_plan   where the queues of a static topic are to lie
    configuration who we are and where the name servers are: flags, environment, files
    completion    what may come next on a command line; `shells` brings it to bash, zsh and fish
    schema        what `--json` prints, as a JSON schema
    manual        the manual page
    main          the way of one call, and of many (`--batch`)

Nothing here may load Twisted, the store or the settings of a server: a call is to be over in a tenth of a
second (`tests/house/test_mqadmin.py`). Standard: `MQAdminStartup` of the module `tools`.
"""
