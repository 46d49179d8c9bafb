"""Training jobs and the workspaces that hold their runs."""
