"""The picture of a link: its query, settings, forward pass and texts."""
