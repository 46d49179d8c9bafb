"""Streamlit pages, one package each, and the table of their data handlers."""
