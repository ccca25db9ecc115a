--TEST--
A command that is cut short by timeout() or cancel() is told to end; nobody waits for it, and none is left as a zombie
--WEFT-ONLY--
--INI--
zend.exception_ignore_args=1
--FILE--
<?php
// An exception that keeps arguments would keep the stream of popen(), and its command, for as long as itself.
use Weft\CancelledError;
use Weft\TimeoutException;
use function Weft\go;
use function Weft\timeout;

function pid(): int
{
    return (int) file_get_contents('pid');
}

/** Whether the process has ended and been waited for. */
function gone(int $pid): bool
{
    for ($i = 0; posix_kill($pid, 0) && $i < 10_000; $i++) {
        usleep(1000); // the loop checks for it
    }

    return !posix_kill($pid, 0);
}

const COMMAND = 'echo $$ > pid; echo said; exec sleep 300';
$began = hrtime(true);
$works = [
    'shell_exec' => fn () => shell_exec(COMMAND),
    'exec' => fn () => exec(COMMAND),
    'no exec' => fn () => shell_exec('sh -c "echo \$\$ > pid; sleep 300; echo never > went-on"; echo never > went-on'),
    'passthru' => fn () => passthru('echo $$ > pid; exec sleep 300'),
    'silent' => fn () => exec('echo $$ > pid; exec sleep 300 >&- 2>&-'), // its pipe is closed: the wait is for the child
    'popen' => function (): void {
        $pipe = popen(COMMAND, 'r');
        while (fgets($pipe) !== false);
    },
    'pclose' => fn () => pclose(popen('echo $$ > pid; exec sleep 300', 'w')),
];
foreach ($works as $name => $work) {
    @unlink('pid');
    try {
        $task = go($work);
        while (!file_exists('pid') || pid() === 0) {
            usleep(1000);
        }
        $task->cancel();
        $task->await();
        $end = 'went on';
    } catch (CancelledError) {
        $end = 'cancelled';
    }
    echo $name, ' ', $end, gone(pid()) ? ', gone' : ', there still', "\n";
}
try {
    timeout(0.05, fn () => shell_exec('sleep 300'));
} catch (TimeoutException $late) {
    echo $late->getMessage(), "\n";
}
echo file_exists('went-on') ? "a shell went on\n" : "no shell went on\n";
// Without an interruption, the caller waits for the end as usual.
exec('exit 7', $output, $code);
var_dump($code, hrtime(true) - $began < 100e9);
--EXPECT--
shell_exec cancelled, gone
exec cancelled, gone
no exec cancelled, gone
passthru cancelled, gone
silent cancelled, gone
popen cancelled, gone
pclose cancelled, gone
Not done within 0.05 seconds
no shell went on
int(7)
bool(true)
