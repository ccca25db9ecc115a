--TEST--
A command that is cut short by timeout() or cancel() is told to end; nobody waits for it, and none is left as a zombie
--WEFT-ONLY--
--FILE--
<?php
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
// With PHP's own default an error keeps the arguments of the calls that it left, such as the stream of popen(); with Debian's
// php.ini it does not.
foreach (['kept' => '0', 'not kept' => '1'] as $arguments => $setting) {
    ini_set('zend.exception_ignore_args', $setting);
    echo "arguments are $arguments\n";
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
        unset($task); // and the error that it has kept
        echo $name, ' ', $end, gone(pid()) ? ', gone' : ', there still', "\n";
    }
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
arguments are kept
shell_exec cancelled, gone
exec cancelled, gone
no exec cancelled, gone
passthru cancelled, gone
silent cancelled, gone
popen cancelled, gone
pclose cancelled, gone
arguments are not kept
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
