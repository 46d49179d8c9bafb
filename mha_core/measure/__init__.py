"""What is measured of implementations and models: time, differences, and attention worked by hand."""
