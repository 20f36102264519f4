"""The supervisor behind `./run`: real servers that are started one after the other, watched, and stopped in order.

Nothing here imports Django itself: the supervisor runs before there is a database to configure it with. When there is
one, it loads the code of all parts, which are its forks (`ops.supervisor.forking`).
"""
