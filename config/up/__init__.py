"""The supervisor behind `./run`: real servers that are started one after the other, watched, and stopped in order.

Nothing here imports Django: the supervisor runs before there is a database to configure it with.
"""
