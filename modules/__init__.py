"""Inferform: one typed deployment spec becomes a sized, checked, planned and applied LLM-inference fleet."""

__version__ = "0.1.0"
