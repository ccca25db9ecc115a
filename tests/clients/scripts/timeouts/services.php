<?php

/* Time-outs of ext-ldap and ext-soap: a server that accepts connections and sends nothing. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/silent.php';

function ldap(): void
{
    $listener = silent($port);
    $link = ldap_connect("ldap://127.0.0.1:$port");
    ldap_set_option($link, LDAP_OPT_PROTOCOL_VERSION, 3);
    ldap_set_option($link, LDAP_OPT_TIMEOUT, 1);
    ldap_bind($link);
}

function soap(): void
{
    $listener = silent($port);
    $client = new SoapClient(null, ['location' => "http://127.0.0.1:$port/", 'uri' => 'urn:silent']);
    ini_set('default_socket_timeout', '1');
    @$client->anything();
}

return [
    'seconds' => 1.0,
    'prints' => static function (): void {
        echo failing(1, ldap(...)), "\n", failing(1, soap(...)), "\n";
    },
    'waits' => static fn (int $n): string => match (failing(1, $n % 4 < 2 ? ldap(...) : soap(...))) {
        'ldap_bind(): Unable to bind to server: Timed out', 'Error Fetching http headers' => "$n",
    },
];
