<?php

declare(strict_types=1);

namespace Composer;

/** What Symfony 6 asks Composer: whether a package stays in production. What Debian has installed does. */
final class InstalledVersions
{
    public static function isInstalled(string $package, bool $dev = true): bool
    {
        return true;
    }

    /** @return array{name: string} */
    public static function getRootPackage(): array
    {
        return ['name' => 'weft/site'];
    }
}
