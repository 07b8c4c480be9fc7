"""Files of models, against the packages that write them, and damaged in every way."""
