"""orpipe: solver-verified operations-research training data, derived from one symbolic model per problem family."""

__version__ = "0.1.0"
