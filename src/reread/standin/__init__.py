"""A `claude` that answers from recordings.

Archives give recordings, which are cut into turns. The repertoire chooses the turn that answers a call; the client
plays it to whoever called, and speaks the control protocol. Invocation, recordings and control do no I/O.
"""
