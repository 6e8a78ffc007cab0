"""The console in the browser: pages (`static`) over a documented API (`/api/v1`), served by the broker.

route       what is asked for where, by whom, with which parameters: declared once, checked and documented
call        one request to the API: who asks, what for
console     state of the console, and the operations of its broker, for the functions of the API
lists       a page of a long list: sorted, filtered, with a cursor to the next
messages    how a message is shown
scan        looking through queues message by message, within a budget
rings       the last 24 hours of a few figures
sessions    who is logged in
entrance    authentication of callers, and their roles
guard       what headers of a request are refused
api/        the functions and routes, a file a subject
openapi     the document made of the routes
streams     server-sent events
site        bytes of HTTP in, functions called, answers out
service     listens, and moves the console's time
front_end   the declaration of the console: its port and flag, its start

Nothing of it is loaded unless `consolePort` is set (docs/decisions/0038-console.md).
"""
