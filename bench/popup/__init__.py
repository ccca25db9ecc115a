"""The bench of the pop-up service (examples/popup): bench/popup/run is its command line."""
