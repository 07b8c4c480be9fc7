"""Models of what people have: files of weights, their configurations and vocabularies."""
