"""Scaling objects in slow motion: the control loops of the HPA and KEDA over a fluid model of a pool. `run.run` is the way in.

The rendered object itself goes in, and its queries are evaluated on the series that the engines would show, so that a wrong
object, query or threshold shows in the trace.
"""
