--TEST--
race(): the first to end wins, by result or by failure; the others have ended when it returns
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;
use Weft\TimeoutException;
use function Weft\race;

$loser = function (): void {
    try {
        sleep(30);
    } finally {
        usleep(1000);
        echo "loser ended\n";
    }
};
echo race([$loser, function (): string { usleep(1000); return 'winner'; }, $loser]), "\n";
try {
    race([$loser, fn () => throw new DomainException('failed first')]);
} catch (DomainException $failure) {
    echo $failure->getMessage(), "\n";
}
echo race([fn () => 'at once', fn () => throw new LogicException('never thrown')]), "\n";
var_dump(race([fn () => null, $loser]));
try {
    race([$loser], timeout: 0.01);
} catch (TimeoutException $timeout) {
    echo get_class($timeout), "\n";
}
try {
    Scope::race([]);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
loser ended
loser ended
winner
loser ended
failed first
at once
loser ended
NULL
loser ended
Weft\TimeoutException
There must be at least one to race
--STDERR--

