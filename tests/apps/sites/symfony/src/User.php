<?php

declare(strict_types=1);

namespace App;

use Symfony\Component\Security\Core\User\PasswordAuthenticatedUserInterface;
use Symfony\Component\Security\Core\User\UserInterface;

final class User implements UserInterface, PasswordAuthenticatedUserInterface
{
    public function __construct(private int $id, private string $name, private string $password)
    {
    }

    public function id(): int
    {
        return $this->id;
    }

    public function getUserIdentifier(): string
    {
        return $this->name;
    }

    public function getUsername(): string
    {
        return $this->name;
    }

    public function getPassword(): string
    {
        return $this->password;
    }

    public function getSalt(): ?string
    {
        return null;
    }

    /** @return list<string> */
    public function getRoles(): array
    {
        return ['ROLE_USER'];
    }

    public function eraseCredentials(): void
    {
    }
}
