"""Room 2, choose: the documented configuration records and the small policies made from them."""
