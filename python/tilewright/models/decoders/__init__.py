"""Decoders of text."""
