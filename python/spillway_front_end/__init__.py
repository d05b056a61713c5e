"""Front end of Spillway: finds out what a job needs, starts the node agent, and sums up.

Standard library only, and little of it: the front end is part of every job's start time.
"""
