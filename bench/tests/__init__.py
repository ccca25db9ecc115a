"""Tests of the laboratory itself: python3 -m unittest discover -s bench -t bench. They measure nothing."""
