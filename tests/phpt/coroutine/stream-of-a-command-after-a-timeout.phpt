--TEST--
A command's stream after timeout() has cut short a read from it: it can be read, pclose() waits, and freeing it ends the command
--WEFT-ONLY--
--FILE--
<?php
use Weft\TimeoutException;
use function Weft\timeout;

/** A command that waits for a file, does something, and says in another file how it ended. */
function opened(string $does = ''): mixed
{
    foreach (['go', 'done', 'pid'] as $file) {
        @unlink($file);
    }
    $pipe = popen('exec 2>/dev/null; trap "echo told to end > done; exit 1" TERM; echo $$ > pid; until [ -e go ]; do sleep 0.01; done;'
        . "$does sleep 0.1; echo ended > done; exit 7", 'r');
    content('pid');

    return $pipe;
}

/** What a file will say. */
function content(string $file): string
{
    while ((string) @file_get_contents($file) === '') {
        usleep(1000);
    }

    return trim(file_get_contents($file));
}

/** Lets a read from the stream be cut short, and returns what keeps the stream: the error, or nothing. */
function cut(mixed $pipe): TimeoutException
{
    try {
        timeout(0.05, fn () => fgets($pipe));
    } catch (TimeoutException $late) {
        return $late;
    }
    throw new Error('it was not cut short');
}

foreach (['0', '1'] as $setting) {
    ini_set('zend.exception_ignore_args', $setting);
    echo "zend.exception_ignore_args=$setting\n";

    $pipe = opened();
    cut($pipe);
    touch('go');
    echo 'pclose() returned ', pclose($pipe), ', the command has ', content('done'), "\n";

    $pipe = opened('echo line;');
    $late = cut($pipe);
    touch('go');
    echo 'a further read said ', fgets($pipe);
    unset($pipe, $late);
    echo 'when it is freed, the command has ', file_get_contents('done');

    $pipe = opened();
    $late = cut($pipe);
    unset($pipe, $late);
    echo 'when it is freed otherwise, the command was ', content('done'), "\n";

    $pipe = opened();
    $late = cut($pipe);
    fclose($pipe);
    unset($late);
    echo 'after fclose() the command was ', content('done'), "\n";

    @unlink('go');
    $process = proc_open('until [ -e go ]; do sleep 0.01; done; echo line; exec sleep 0.1', [1 => ['pipe', 'w']], $pipes);
    cut($pipes[1]);
    touch('go');
    var_dump(feof($pipes[1]), fgets($pipes[1]), fgets($pipes[1]), feof($pipes[1]), proc_close($process));

    // It has ended by itself meanwhile: it is collected.
    $pipe = opened();
    $late = cut($pipe);
    touch('go');
    while (!preg_match('/\) Z /', file_get_contents('/proc/' . content('pid') . '/stat'))) {
        usleep(1000);
    }
    unset($pipe, $late);
    echo posix_kill((int) content('pid'), 0) ? 'a zombie is left' : 'no zombie is left', "\n";
}
--EXPECT--
zend.exception_ignore_args=0
pclose() returned 7, the command has ended
a further read said line
when it is freed, the command has ended
when it is freed otherwise, the command was told to end
after fclose() the command was told to end
bool(false)
string(5) "line
"
bool(false)
bool(true)
int(0)
no zombie is left
zend.exception_ignore_args=1
pclose() returned 7, the command has ended
a further read said line
when it is freed, the command has ended
when it is freed otherwise, the command was told to end
after fclose() the command was told to end
bool(false)
string(5) "line
"
bool(false)
bool(true)
int(0)
no zombie is left
