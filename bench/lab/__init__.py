"""The laboratory behind `bench/run`: it uses the standard library only, with one file per concern.

proc (what the kernel says) and load, clients (what is sent) know no server; peers knows how each server is started;
scenarios joins them and is the only file that measures; results, machine, svg and report turn samples into files.
"""
