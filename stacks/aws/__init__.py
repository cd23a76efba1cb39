"""AWS, one file a stack, and what stacks share."""
