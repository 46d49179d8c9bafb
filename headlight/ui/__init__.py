"""Texts, numbers, charts, tables and static files of the user interface, without Streamlit."""
