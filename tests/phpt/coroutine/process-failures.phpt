--TEST--
What goes wrong in a helper process comes back as an exception that says what
--WEFT-ONLY--
--FILE--
<?php
use Weft\Process;

final class Refused extends DomainException
{
    public function __construct(public readonly int $price)
    {
        parent::__construct("refused at $price", 7, new LogicException('the cause'));
    }
}

function attempt(Closure $work): void
{
    try {
        Process::run($work);
        echo "it returned\n";
    } catch (Throwable $failure) {
        echo get_class($failure), ': ', strtok($failure->getMessage(), "\n"), "\n";
    }
}

try {
    Process::run(function (): void {
        $refuse = fn (PDO $notSerializable) => throw new Refused(3);
        $refuse(new PDO('sqlite::memory:'));
    });
} catch (Refused $refused) {
    echo get_class($refused), ' ', $refused->getMessage(), ' ', $refused->price, ' ', $refused->getPrevious()->getMessage(), ' line ', $refused->getLine(), "\n";
}
attempt(fn () => throw new class('anonymous') extends Exception {});
attempt(fn () => fn () => 'a closure');
attempt(function (): void {
    exit(3);
});
attempt(function (): void {
    ini_set('display_errors', '0');
    ini_set('memory_limit', '8M');
    str_repeat('x', 100_000_000);
});
attempt(function (): void {
    posix_kill(getmypid(), SIGSEGV);
});
attempt(function (): void {
    posix_kill(getmypid(), SIGKILL);
});
attempt(fn () => undefined_function());
attempt(fn () => Weft\go(fn () => null));
var_dump(pcntl_waitpid(-1, $status, WNOHANG));
--EXPECTF--
Refused refused at 3 3 the cause line 24
Weft\ProcessFailed: The helper process threw what cannot be passed between processes: Exception@anonymous%s
Weft\ProcessFailed: Its result cannot be passed between processes: Serialization of 'Closure' is not allowed
Weft\ProcessFailed: The helper process called exit(): return a value instead
Weft\ProcessFailed: A fatal error ended the helper process: Allowed memory size of 8388608 bytes exhausted%s
Weft\ProcessFailed: The helper process ended without a result: it was ended by signal 11 (SIGSEGV, a crash)
Weft\ProcessFailed: The helper process ended without a result: it was ended by signal 9 (SIGKILL, perhaps out of memory)
Error: Call to undefined function undefined_function()
Error: %s
int(-1)
