"""The name server: brokers register, clients ask where topics are.

registration  what brokers say and what comes of it, as plain data
routes        the tables and the rules by which brokers change them; pure
topic_tables  those of the tables that have topics; pure
lookup        what is read from the tables: routes, lists, the cluster; pure
kv            the KV configuration and its file
name_server   what request functions see
requests      one function a request
service       code -> function, timers, sockets: start here
"""
