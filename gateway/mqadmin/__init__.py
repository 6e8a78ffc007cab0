"""`mqadmin` without a JVM: RocketMQ's commands by name, options and text, over blocking sockets.

    declaration   definition of a command: name, options, function, text of its rows; `commands` has them
    parsing       command-line arguments to given options, as RocketMQ's parser reads them
    times         times as they are typed
    usage         the help of a command, laid out as RocketMQ's
    rendering     rows as RocketMQ's text, or as JSON
    connection    one request at a time over a blocking socket
    servers       servers that a command queries: name servers, masters of a cluster, brokers of a topic
    profiles      named servers and credentials, in a file of the user
    static_plan   target brokers of the queues of a static topic
    configuration credentials and name servers: flags, environment, files
    completion    candidates for the next word of a command line; `shells` integrates bash, zsh and fish
    schema        JSON schema of the output of `--json`
    manual        the manual page
    main          execution of one call, and of many (`--batch`)

No module here may load Twisted, the store or the settings of a server: a call has to end within a tenth of a
second (`tests/house/test_mqadmin.py`). RocketMQ: `MQAdminStartup` of the module `tools`.
"""
