module bench/hello

go 1.19
