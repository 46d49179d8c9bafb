"""Measurements: `timing`, `benchmark`, `measures`, `agreement`; attention `by_hand`, the steps of an
`embedding`; what goes from layer to layer: `rollout`, `value_norms`; a score by its `channels`."""

__all__: list[str] = []
