"""Room 8, expand: prologue, kernel and epilogue as entries, from a program or from recipes."""
