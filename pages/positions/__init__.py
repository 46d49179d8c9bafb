"""The page Positions: positional encodings and what they change in the model."""
