"""The documented configuration records and the small policies made from them."""
