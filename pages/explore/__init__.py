"""The page Maps."""
