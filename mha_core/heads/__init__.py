"""What heads do, read from their maps: the `kinds` of cells that they look at, `measures`, and `tables` of both."""

__all__: list[str] = []
