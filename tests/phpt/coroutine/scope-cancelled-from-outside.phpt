--TEST--
Cancelling the task that runs a scope ends the scope's tasks first
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Scope;
use function Weft\go;

$begun = 0;
function work(string $name): void
{
    $GLOBALS['begun']++;
    try {
        sleep(30);
    } finally {
        usleep(1000);
        echo "$name ended\n";
    }
}

foreach (['in the body' => true, 'while it waits for its tasks' => false] as $where => $bodyWaits) {
    $task = go(function () use ($bodyWaits): void {
        try {
            Scope::run(function (Scope $scope) use ($bodyWaits): void {
                $scope->go(work(...), 'first');
                $scope->go(fn () => Scope::run(fn (Scope $inner) => $inner->go(work(...), 'inner') && $inner->go(work(...), 'last')));
                if ($bodyWaits) {
                    sleep(30);
                }
            });
        } finally {
            echo "scope ended\n";
        }
    });
    for ($begun = 0; $begun < 3;) {
        usleep(100);
    }
    echo "$where\n";
    $task->cancel('enough');
    try {
        $task->await();
    } catch (CancelledError $cancelled) {
        echo $cancelled->getMessage(), "\n";
    }
}
--EXPECT--
in the body
first ended
inner ended
last ended
scope ended
The task was cancelled: enough
while it waits for its tasks
first ended
inner ended
last ended
scope ended
The task was cancelled: enough
--STDERR--

