"""What the names of a rule mean: `picture` and `trained` hold quantities, `scene` asks them of what a page shows."""
