<?php
/**
 * The behaviour of user code's Fibers, case by case: each case prints what happens. The cases run in handlers, many at
 * once, and must print what they print under the php command. pause() waits, so that other requests run in between.
 *
 * @return array<string, Closure(): void>
 */

declare(strict_types=1);

function pause(): void
{
    usleep(random_int(1, 300));
}

/** Runs a Fiber to its end and answers each of its questions with the question's number; returns its result. */
function finish(Fiber $fiber): mixed
{
    for ($asked = $fiber->start(), $number = 1; !$fiber->isTerminated(); $number++) {
        echo '[', json_encode($asked), ']';
        pause();
        $asked = $fiber->resume($number);
    }

    return $fiber->getReturn();
}

/** The exception that a call throws, as text. */
function refusal(Closure $call): string
{
    try {
        $call();
    } catch (Throwable $error) {
        return get_class($error) . ': ' . $error->getMessage() . "\n";
    }

    return "nothing\n";
}

function ask(string $what): mixed
{
    pause();
    try {
        return Fiber::suspend($what);
    } finally {
        pause();
    }
}

function traced(): array
{
    ask('first');

    // Since PHP 8.4 a closure's name has its file, which is another one in each run.
    return array_map(fn (array $frame) => strtok($frame['function'], ':'), debug_backtrace());
}

return [
    'values go in and out' => function (): void {
        $fiber = new Fiber(function (int ...$numbers): string {
            $sum = array_sum($numbers);
            while (($more = ask("sum $sum")) < 3) {
                $sum += $more;
            }

            return "at last $sum";
        });
        echo json_encode($fiber->start(1, 2, 3)), json_encode($fiber->resume(1)), json_encode($fiber->resume(2));
        echo json_encode($fiber->resume(3)), $fiber->getReturn(), "\n";
    },
    'state before, between and after' => function (): void {
        $state = fn (Fiber $fiber) => json_encode([$fiber->isStarted(), $fiber->isRunning(), $fiber->isSuspended(), $fiber->isTerminated()]);
        $fiber = new Fiber(function () use (&$fiber, $state): void {
            pause();
            echo $state($fiber);
            ask('now');
            echo $state($fiber);
        });
        echo $state($fiber);
        $fiber->start();
        echo $state($fiber);
        $fiber->resume();
        echo $state($fiber), "\n";
    },
    'in foreach over an array that changes' => function (): void {
        $list = [1, 2, 3];
        finish(new Fiber(function () use (&$list): void {
            foreach ($list as $key => $value) {
                $list[] = ask("$key => $value");
            }
        }));
        echo json_encode($list);
        finish(new Fiber(function () use (&$list): void {
            foreach ($list as &$value) {
                $value *= ask("times");
                if (count($list) < 8) {
                    $list[] = $value;
                }
            }
        }));
        echo json_encode($list), "\n";
    },
    'in a generator, and a generator that is shared' => function (): void {
        $numbers = (function (): Generator {
            for ($i = 0; $i < 3; $i++) {
                $answer = ask("before $i");
                $sent = yield $i => $answer;
                echo "<$sent>";
            }

            return 'generated';
        })();
        finish(new Fiber(function () use ($numbers): void {
            foreach ($numbers as $key => $value) {
                echo "($key:$value)";
                if ($key === 1) {
                    break;
                }
            }
        }));
        echo '|';
        finish(new Fiber(function () use ($numbers): void {
            echo $numbers->current();
            $numbers->send('sent');
            echo $numbers->current();
            $numbers->next();
            echo $numbers->getReturn();
        }));
        echo "\n";
    },
    'in yield from, inside out' => function (): void {
        $inner = function (string $name): Generator {
            yield $name . ask($name);

            return "$name ended";
        };
        $outer = function () use ($inner): Generator {
            echo yield from $inner('a');
            echo yield from $inner('b');
        };
        finish(new Fiber(function () use ($outer): void {
            echo implode(',', iterator_to_array($outer(), false));
        }));
        echo "\n";
    },
    'below many calls' => function (): void {
        $down = function (int $depth) use (&$down): int {
            return $depth === 0 ? ask('bottom') : 1 + $down($depth - 1);
        };
        echo finish(new Fiber(fn () => $down(200))), "\n";
    },
    'below functions of the engine' => function (): void {
        echo finish(new Fiber(function (): string {
            $mapped = array_map(fn ($x) => $x * ask("map $x"), [10, 20]);
            usort($mapped, fn ($a, $b) => ask('compare') > 0 ? $b <=> $a : 0);
            $replaced = preg_replace_callback('/\d/', fn ($m) => $m[0] . ask("digit $m[0]"), '7 and 8');
            array_walk($mapped, function (&$x) { $x += ask('walk'); });
            $called = call_user_func_array('ask', ['called']);
            $reflected = (new ReflectionFunction('ask'))->invoke('reflected');

            return json_encode([$mapped, $replaced, $called, $reflected]);
        })), "\n";
    },
    'in magic methods' => function (): void {
        $magic = new class implements ArrayAccess, IteratorAggregate, Countable, JsonSerializable {
            public function __get(string $name): mixed { return ask("get $name"); }
            public function __set(string $name, mixed $value): void { echo "{set $name $value ", ask('set'), '}'; }
            public function __isset(string $name): bool { return (bool) ask("isset $name"); }
            public function __call(string $name, array $arguments): mixed { return ask("call $name"); }
            public static function __callStatic(string $name, array $arguments): mixed { return ask("static $name"); }
            public function __invoke(): mixed { return ask('invoke'); }
            public function __toString(): string { return 'text ' . ask('toString'); }
            public function __clone() { ask('clone'); }
            public function offsetGet(mixed $key): mixed { return ask("offset $key"); }
            public function offsetSet(mixed $key, mixed $value): void { ask("offset $key = $value"); }
            public function offsetExists(mixed $key): bool { return (bool) ask("exists $key"); }
            public function offsetUnset(mixed $key): void { ask("unset $key"); }
            public function getIterator(): Iterator { return new ArrayIterator([ask('iterator')]); }
            public function count(): int { return ask('count'); }
            public function jsonSerialize(): mixed { return ask('json'); }
        };
        finish(new Fiber(function () use ($magic): void {
            $magic->property = 'v';
            $magic['key'] = 'v';
            unset($magic['key']);
            $copy = clone $magic;
            echo $magic->property, isset($magic->property), $magic->method(), $magic::method(), $magic(), "$magic", $magic['k'],
                isset($magic['k']), count($magic), json_encode($magic), implode(iterator_to_array($magic));
        }));
        echo "\n";
    },
    'in the middle of an expression' => function (): void {
        finish(new Fiber(function (): void {
            $text = 'a';
            $text .= ask('append') . ($text = 'b');
            [$x, ['y' => $y, 'z' => $z]] = [ask('x'), ['y' => ask('y'), 'z' => ask('z')]];
            $sum = ask('left') + ask('right') * 2;
            $either = null ?? ask('coalesce') ?: 'never';
            $match = match (ask('match')) { 8 => 'eight', default => 'other' };
            $array = ['a' => ask('element'), ...[ask('spread')]];
            printf('%s %s %s', ask('first'), 'constant', ask('third'));
            echo json_encode([$text, $x, $y, $z, $sum, $either, $match, $array]);
        }));
        echo "\n";
    },
    'thrown into, and caught' => function (): void {
        $fiber = new Fiber(function (): string {
            try {
                ask('waits');
            } catch (DomainException $thrown) {
                pause();
                echo 'caught ', $thrown->getMessage(), ' ';
            }

            return ask('again') . ' returned';
        });
        $fiber->start();
        echo $fiber->throw(new DomainException('into')), ' ';
        $fiber->resume('at last');
        echo $fiber->getReturn(), "\n";
    },
    'thrown into, and not caught' => function (): void {
        $fiber = new Fiber(function (): void {
            try {
                ask('waits');
            } finally {
                pause();
                echo 'finally ';
            }
        });
        $fiber->start();
        echo refusal(fn () => $fiber->throw(new DomainException('through')));
        echo json_encode($fiber->isTerminated()), refusal($fiber->getReturn(...));
    },
    'throws out of nested Fibers' => function (): void {
        $nest = function (int $depth) use (&$nest): void {
            if ($depth === 0) {
                ask('deepest');
                throw new RangeException('from the deepest');
            }
            $inner = new Fiber(fn () => $nest($depth - 1));
            try {
                $inner->start();
                ask("depth $depth");
                $inner->resume();
            } catch (RangeException | LogicException $thrown) {
                pause();
                throw new LogicException("depth $depth", 0, $thrown);
            }
        };
        try {
            finish(new Fiber(fn () => $nest(4)));
        } catch (LogicException $thrown) {
            for (; $thrown !== null; $thrown = $thrown->getPrevious()) {
                echo $thrown->getMessage(), '; ';
            }
        }
        echo "\n";
    },
    'suspended while it unwinds' => function (): void {
        $fiber = new Fiber(function (): void {
            try {
                try {
                    throw new DomainException('first');
                } finally {
                    echo 'asked ', ask('in finally'), ' ';
                }
            } catch (DomainException $thrown) {
                echo ask('in catch'), ' ', $thrown->getMessage(), ' ';
                throw new LogicException('second', 0, $thrown);
            }
        });
        echo refusal(fn () => finish($fiber));
    },
    'returns through finally' => function (): void {
        echo finish(new Fiber(function (): string {
            foreach ([1, 2] as $i) {
                try {
                    if ($i === 2) {
                        return 'returned ' . ask('return');
                    }
                    continue;
                } finally {
                    echo 'finally ', ask("finally $i"), ' ';
                }
            }

            return 'never';
        })), "\n";
    },
    'started twice, resumed when it cannot be' => function (): void {
        $fiber = new Fiber(fn () => ask('waits'));
        echo refusal($fiber->resume(...)), refusal($fiber->getReturn(...)), refusal(fn () => $fiber->throw(new Exception()));
        $fiber->start();
        echo refusal($fiber->start(...)), refusal($fiber->getReturn(...));
        $fiber->resume();
        echo refusal($fiber->resume(...)), refusal($fiber->start(...)), refusal(fn () => $fiber->throw(new Exception()));
        $self = new Fiber(function () use (&$self): void {
            pause();
            echo refusal($self->resume(...)), refusal($self->start(...));
        });
        $self->start();
        $outer = new Fiber(function () use (&$outer): void {
            $inner = new Fiber(function () use (&$outer): void {
                pause();
                echo refusal($outer->resume(...));
            });
            $inner->start();
        });
        $outer->start();
        $failed = new Fiber(fn () => throw new RangeException('gone'));
        echo refusal($failed->start(...)), refusal($failed->getReturn(...)), refusal($failed->resume(...));
    },
    'dropped before it was started, and while it is suspended' => function (): void {
        $never = new Fiber(function (): void {
            echo "never\n";
        });
        unset($never);
        $fiber = new Fiber(function (): void {
            $guard = new class {
                public function __destruct()
                {
                    pause();
                    echo 'guard ';
                }
            };
            try {
                ask('waits');
                echo 'never ';
            } catch (Throwable) {
                echo 'not even this ';
            } finally {
                pause();
                echo 'finally ', refusal(fn () => Fiber::suspend());
            }
        });
        $fiber->start();
        unset($fiber);
        pause();
        echo "dropped\n";
    },
    'collected as a part of a cycle' => function (): void {
        $make = function (): void {
            $holder = new stdClass();
            $holder->fiber = new Fiber(function () use ($holder): void {
                try {
                    Fiber::suspend();
                } finally {
                    echo 'unwound ';
                }
            });
            $holder->fiber->start();
        };
        gc_collect_cycles(); // collects what earlier cases left
        $make();
        gc_collect_cycles(); // without a wait in between, during which another request could collect it
        pause();
        echo "collected\n";
    },
    'refers to itself and ends' => function (): void {
        $fiber = new Fiber(function () use (&$fiber): int {
            $mine = $fiber;
            ask('waits');

            return $mine === Fiber::getCurrent() ? 1 : 0;
        });
        echo finish($fiber), json_encode($fiber->isTerminated()), "\n";
    },
    'a destructor waits, but cannot suspend' => function (): void {
        finish(new Fiber(function (): void {
            $object = new class {
                public function __destruct()
                {
                    pause();
                    echo 'in the destructor: ', refusal(fn () => Fiber::suspend());
                }
            };
            $object = null;
            echo ask('and on'), "\n";
        }));
    },
    'an error handler that suspends' => function (): void {
        set_error_handler(fn (int $type, string $message) => print("handled $message " . ask('handler') . ' '));
        try {
            finish(new Fiber(function (): void {
                $list = [];
                echo json_encode($list['missing']), json_encode($unknown), "\n";
            }));
        } finally {
            restore_error_handler();
        }
    },
    'output buffers' => function (): void {
        $fiber = new Fiber(function (): string {
            ob_start(fn (string $text) => strtoupper($text));
            echo 'inside ';
            ask('buffered');
            echo 'still inside ';

            return (string) ob_get_flush();
        });
        $fiber->start();
        echo 'from outside ';
        $fiber->resume();
        echo '| ', $fiber->getReturn(), "\n";
    },
    'a stack trace' => function (): void {
        echo json_encode(array_slice(finish(new Fiber(fn () => traced())), 0, 3)), "\n";
    },
    'a scheduler of its own' => function (): void {
        $queue = new SplQueue();
        $log = [];
        foreach (['a', 'b', 'c'] as $name) {
            $queue->enqueue(new Fiber(function () use ($name, &$log): void {
                for ($i = 0; $i < 3; $i++) {
                    $log[] = "$name$i";
                    ask($name);
                }
            }));
        }
        while (!$queue->isEmpty()) {
            $fiber = $queue->dequeue();
            $fiber->isStarted() ? $fiber->resume() : $fiber->start();
            if (!$fiber->isTerminated()) {
                $queue->enqueue($fiber);
            }
        }
        echo implode(' ', $log), "\n";
    },
    'hundreds at once' => function (): void {
        $fibers = [];
        for ($i = 0; $i < 300; $i++) {
            $fibers[] = new Fiber(fn () => $i + Fiber::suspend());
            $fibers[$i]->start();
        }
        pause();
        $sum = 0;
        foreach (array_reverse($fibers) as $fiber) {
            $fiber->resume(1);
            $sum += $fiber->getReturn();
        }
        echo $sum, "\n";
    },
    'keys of a WeakMap' => function (): void {
        $names = new WeakMap();
        $fiber = new Fiber(fn () => ask('waits'));
        $names[$fiber] = 'named';
        $fiber->start();
        $fiber->resume();
        echo $names[$fiber], ' ', count($names), ' ';
        unset($fiber);
        echo count($names), "\n";
    },
];
