"""A site of static files: recorded answers of the data API, pages, and models for the browser."""
