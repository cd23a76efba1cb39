"""Facts about AWS, each with its source and the day it was read."""
