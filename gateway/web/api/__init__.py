"""The API's functions, a file a subject; each has its `ROUTES`.

A function is given the console and the call, and gives what becomes JSON: at once, as a Deferred, or as a
coroutine, which gives way in between. It raises `ApiError`; refusals of the broker's operations pass through.
"""
