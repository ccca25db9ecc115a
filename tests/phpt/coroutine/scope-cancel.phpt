--TEST--
cancel() ends the tasks; the body goes on, and its result counts
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Scope;

$kept = null;
echo Scope::run(function (Scope $scope) use (&$kept): string {
    $kept = $scope;
    $task = $scope->go(function (): void {
        try {
            sleep(30);
        } catch (CancelledError $cancelled) {
            echo $cancelled->getMessage(), "\n";
            throw $cancelled;
        }
    });
    usleep(1000);
    $scope->cancel('no longer needed');
    usleep(1000);
    try {
        $scope->go(fn () => null);
    } catch (CancelledError $cancelled) {
        echo $cancelled->getMessage(), "\n";
    }

    return $task->ended() ? 'ended' : 'still there';
}), "\n";
try {
    $kept->go(fn () => null);
} catch (LogicException $error) {
    echo $error->getMessage(), "\n";
}
// A single task can be cancelled: that is not a failure.
echo Scope::run(function (Scope $scope): string {
    $scope->go(sleep(...), 30)->cancel();
    $begun = $scope->go(sleep(...), 30);
    usleep(1000);
    $begun->cancel();

    return 'the others go on';
}), "\n";
--EXPECT--
The task was cancelled: no longer needed
No task can be started any more: no longer needed
ended
No task can be started any more: the scope has ended with its run()
the others go on
--STDERR--

