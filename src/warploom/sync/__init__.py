"""Derived synchronisation: counter waits and barriers, mbarriers and turns."""
