<?php

declare(strict_types=1);

/** The administrator's connection; with `$slow`, behind a network that delays each answer by 0.25 s. */
function connect(bool $slow = false): LDAP\Connection
{
    $link = ldap_connect('ldap://127.0.0.1:' . getenv($slow ? 'LDAP_SLOW_PORT' : 'LDAP_PORT'));
    ldap_set_option($link, LDAP_OPT_PROTOCOL_VERSION, 3);
    ldap_bind($link, 'cn=admin,dc=weft,dc=test', 'secret');

    return $link;
}

/** Creates the directory's root and a new entry for units below it. */
function unit(LDAP\Connection $link): string
{
    $root = ['objectClass' => ['dcObject', 'organization'], 'o' => 'weft', 'dc' => 'weft'];
    // Another request may have added it.
    try {
        ldap_add($link, 'dc=weft,dc=test', $root);
    } catch (ErrorException) {
    }
    $unit = 'ou=' . bin2hex(random_bytes(8)) . ',dc=weft,dc=test';
    ldap_add($link, $unit, ['objectClass' => 'organizationalUnit']);

    return $unit;
}
