"""The page By hand."""
