<?php

/* Code that the scripts share. Stock php needs this to find the library; weft has it built in. */

declare(strict_types=1);

use Weft\Coroutine;
use Weft\Pool;

require_once dirname(__DIR__, 2) . '/php/autoload.php';

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    return str_contains($message, 'MySQL server has gone away') || str_contains($message, 'Error reading result')
        || str_contains($message, 'Packets out of order') ? true : throw new ErrorException($message, 0, $level, $file, $line);
}, E_ALL);

/** A resource with a number that can be broken. */
final class Thing
{
    public static int $made = 0;

    public bool $works = true;

    public readonly int $number;

    public function __construct()
    {
        $this->number = ++self::$made;
    }
}

/** Some of a pool's numbers. */
function numbers(Pool $pool, string ...$names): string
{
    $metrics = $pool->metrics();

    return implode(', ', array_map(static fn (string $name) => "$name $metrics[$name]", $names));
}

/** Waits until a condition holds; a minute at most. */
function until(callable $condition): void
{
    for ($i = 0; !$condition(); ++$i) {
        $i < 60_000 ?: throw new Exception('waited in vain');
        usleep(1000);
    }
}

/** The exception of $work, in one line. */
function thrown(callable $work): string
{
    try {
        return 'returned ' . json_encode($work());
    } catch (Throwable $failure) {
        return $failure::class . ': ' . $failure->getMessage();
    }
}

function dsn(): string
{
    return 'mysql:host=127.0.0.1;dbname=weft;charset=utf8mb4;port=' . getenv('MARIADB_PORT');
}

/** A shared PDO with errors as exceptions and statements prepared by the server. */
function shared(int|float ...$limits): Weft\Database\SharedPdo
{
    return new Weft\Database\SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false], ...$limits);
}

/** A table for one script, with rows 1 to $rows. */
function table(PDO $pdo, string $name, int $rows): void
{
    $pdo->exec("CREATE OR REPLACE TABLE $name (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50)) ENGINE=InnoDB");
    if ($rows > 0) {
        $pdo->exec("INSERT INTO $name (id, name) SELECT seq, CONCAT('row ', seq) FROM seq_1_to_$rows");
    }
}
