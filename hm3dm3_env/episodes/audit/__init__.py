"""Audit of a split: every claim in its files, worked out again from the scenes by code of its own."""
