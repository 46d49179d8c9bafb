"""What the names of a rule mean: each module holds quantities, `scene` asks them of what a page shows."""
