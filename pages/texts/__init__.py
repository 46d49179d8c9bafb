"""Texts: for who comes from one of the five texts, its elements in its order, and where each is here."""
