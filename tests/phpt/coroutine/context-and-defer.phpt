--TEST--
Context is inherited by copy; defer() calls backwards when its own coroutine ends, however that ends
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Context;
use Weft\Coroutine;
use function Weft\defer;
use function Weft\go;

Context::set('who', 'main');
Context::set('list', [1]);
$child = go(function (): array {
    $seen = [Context::get('who'), Context::get('list'), Context::has('late')];
    Context::set('who', 'child');
    Context::set('list', [...Context::get('list'), 2]);
    Context::delete('list');
    $grandchild = go(fn () => [Context::get('who'), Context::has('list')])->await();

    return [$seen, Context::get('who'), Context::get('list', 'gone'), $grandchild];
});
Context::set('late', true); // it was started before
echo json_encode($child->await()), "\n";
var_dump(Context::get('who'), Context::get('list'), Context::has('nothing'), Context::get('nothing', 'default'));
Context::set('null', null);
var_dump(Context::has('null'), Context::get('null', 'default'));
// Interleaved.
$tasks = array_map(fn ($n) => go(function () use ($n): bool {
    Context::set('n', $n);
    usleep(100 * ($n % 5));

    return Context::get('n') === $n && Context::get('who') === 'main';
}), range(1, 50));
var_dump(array_unique(array_map(fn ($task) => $task->await(), $tasks)));

$said = [];
$say = function (string $text) use (&$said): Closure {
    return function () use ($text, &$said): void {
        $said[] = $text;
    };
};
$told = function () use (&$said): void {
    echo implode(', ', $said), "\n";
    $said = [];
};
go(function () use ($say): void {
    defer($say('last'));
    defer(function () use ($say): void {
        usleep(100); // it may wait
        $say('second')();
        defer($say('registered while they run'));
    });
    defer($say('first'));
    $say('the work')();
})->await();
$told();
foreach (['throws' => fn () => throw new DomainException('x'), 'waits' => fn () => sleep(60)] as $how => $work) {
    $task = go(function () use ($say, $how, $work): void {
        defer($say("deferred of one that $how"));
        $work();
    });
    Coroutine::yield();
    $task->cancel();
    try {
        $task->await();
    } catch (DomainException | CancelledError) {
    }
    $told();
}
register_shutdown_function(fn () => print("and then the shutdown functions\n"));
defer(function (): void {
    usleep(100); // it may wait here, too
    echo "then the task that it left\n";
});
go(function (): void {
    usleep(3_000);
    echo "a task goes on\n";
});
defer(fn () => print("at the end of main\n"));
echo "main ends\n";
--EXPECT--
[["main",[1],false],"child","gone",["child",false]]
string(4) "main"
array(1) {
  [0]=>
  int(1)
}
bool(false)
string(7) "default"
bool(true)
NULL
array(1) {
  [0]=>
  bool(true)
}
the work, first, second, registered while they run, last
deferred of one that throws
deferred of one that waits
main ends
at the end of main
then the task that it left
a task goes on
and then the shutdown functions
