"""The queue: which computation runs when, and the caches that clients share."""
