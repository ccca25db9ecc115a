"""The laboratory behind `bench/run`: standard library only, one file per thing it knows.

proc (what the kernel says) and load, clients (what is sent) know no server; peers knows how each server is started;
scenarios joins them and is the only file that measures; results, machine, svg and report turn samples into files.
"""
