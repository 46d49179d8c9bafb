"""The files that the page of the model exports, which need its settings alone."""
