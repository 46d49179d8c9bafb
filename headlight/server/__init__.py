"""The server's ASGI middleware, static files, store, logging and memory management."""
