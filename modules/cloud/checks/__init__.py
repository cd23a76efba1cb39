"""The checks of preflight, one file a subject."""
