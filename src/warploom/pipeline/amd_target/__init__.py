"""Toy costs, geometry and tags of the targets the seed documents."""
