"""Room 1, declare: what one loop iteration does. Op kinds, ``OpDesc``, entries, edges, bodies."""
