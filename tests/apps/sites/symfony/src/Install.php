<?php

declare(strict_types=1);

namespace App;

use Doctrine\DBAL\Connection;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** bin/console app:install creates the tables and fifty users. */
final class Install extends Command
{
    protected static $defaultName = 'app:install';

    public function __construct(private Connection $connection)
    {
        parent::__construct();
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $this->connection->executeStatement('CREATE TABLE users (id INT AUTO_INCREMENT PRIMARY KEY,
            name VARCHAR(80) NOT NULL UNIQUE, password VARCHAR(255) NOT NULL)');
        $this->connection->executeStatement('CREATE TABLE notes (id INT AUTO_INCREMENT PRIMARY KEY, user INT NOT NULL,
            title VARCHAR(80) NOT NULL, text TEXT NOT NULL, picture VARCHAR(80), words INT)');
        $this->connection->executeStatement('CREATE TABLE messenger_messages (id BIGINT AUTO_INCREMENT PRIMARY KEY,
            body LONGTEXT NOT NULL, headers LONGTEXT NOT NULL, queue_name VARCHAR(190) NOT NULL,
            created_at DATETIME NOT NULL, available_at DATETIME NOT NULL, delivered_at DATETIME)');
        $password = password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4]);
        for ($number = 0; $number < 50; $number++) {
            $this->connection->insert('users', ['name' => sprintf('visitor%02dx', $number), 'password' => $password]);
        }

        return Command::SUCCESS;
    }
}
