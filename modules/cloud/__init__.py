"""Live look-ups in a cloud account, and the one thing made there outside Terraform: the state bucket. Only this package uses boto3."""
