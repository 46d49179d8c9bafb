"""The page Explore."""
