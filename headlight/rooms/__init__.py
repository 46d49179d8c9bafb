"""Rooms: a host asks questions, the phones of a class vote."""
