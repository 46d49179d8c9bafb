"""HTTP routes of the data API, and the middleware that pre-renders pages."""
