<?php

declare(strict_types=1);

/** A MariaDB for one script, in its own directory, that can be killed. It ends with the script. */
final class Mariadb
{
    /** @var resource|null */
    private $process = null;

    public function __construct(private readonly string $directory)
    {
        $install = "mariadb-install-db --no-defaults --datadir=$directory/data --auth-root-authentication-method=normal --skip-test-db"
            . $this->user();
        exec("$install 2>&1", $said, $code);
        $code === 0 || throw new Exception(implode("\n", $said));
    }

    public function __destruct()
    {
        $this->kill();
    }

    public function start(): void
    {
        $command = "exec mariadbd --no-defaults --datadir=$this->directory/data --socket=$this->directory/socket --skip-networking"
            . " --pid-file=$this->directory/pid --innodb-buffer-pool-size=16M --performance-schema=OFF" . $this->user();
        $log = ['file', "$this->directory/log", 'a'];
        // If the shell kept its other descriptors, the test would wait for the end of its output.
        $this->process = proc_open($command, [['file', '/dev/null', 'r'], $log, $log], $pipes);
        until(function (): bool {
            try {
                return (new PDO($this->dsn(), 'root', '')) instanceof PDO;
            } catch (PDOException) {
                return false;
            }
        });
    }

    public function kill(): void
    {
        if ($this->process !== null) {
            proc_terminate($this->process, 9);
            proc_close($this->process);
            $this->process = null;
        }
    }

    public function dsn(): string
    {
        return "mysql:unix_socket=$this->directory/socket";
    }

    private function user(): string
    {
        return posix_geteuid() === 0 ? ' --user=root' : '';
    }
}
