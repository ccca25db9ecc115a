--TEST--
A failure goes from an inner scope to the outer one, and ends what runs in both
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

try {
    Scope::run(function (Scope $outer): void {
        $outer->go(function (): void {
            try {
                sleep(30);
            } finally {
                echo "sibling of the inner scope ended\n";
            }
        });
        $outer->go(fn () => Scope::run(function (Scope $inner): void {
            $inner->go(function (): void {
                try {
                    sleep(30);
                } finally {
                    echo "inner sibling ended\n";
                }
            });
            $inner->go(function (): void {
                usleep(1000);
                throw new OutOfBoundsException('deep');
            });
        }));
        sleep(30);
    });
} catch (OutOfBoundsException $failure) {
    echo $failure->getMessage(), "\n";
}
// An inner handler stops it.
echo Scope::run(function (Scope $outer): string {
    $task = $outer->go(function (): string {
        try {
            return Scope::run(fn (Scope $inner) => $inner->go(fn () => throw new OutOfBoundsException('caught')));
        } catch (OutOfBoundsException $failure) {
            return $failure->getMessage();
        }
    });

    return $task->await();
}), "\n";
--EXPECT--
inner sibling ended
sibling of the inner scope ended
deep
caught
--STDERR--

