"""Prologue, kernel and epilogue as entries, from a program or from recipes."""
