"""The rule of each claim: tensors in, a verdict with its numbers out. Nothing here runs a model or knows a page."""
