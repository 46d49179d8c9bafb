"""The sentences that are one click away: from the texts that Headlight grew out of, and Winograd's classic pair."""

from __future__ import annotations

PRESETS = (
    "The animal didn't cross the street because it was too tired",
    "The animal didn't cross the street because it was too wide",
    "can you can that",
    "how are you",
    "you how are",
    "orange is my favorite fruit",
)
