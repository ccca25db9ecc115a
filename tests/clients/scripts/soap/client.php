<?php

/* ext-soap: calls without a WSDL, faults, an unreachable server. */

declare(strict_types=1);

function client(?string $location = null): SoapClient
{
    return new SoapClient(null, ['location' => $location ?? getenv('SOAP_URL'), 'uri' => 'urn:clock']);
}

return [
    'prints' => static function (): void {
        $client = client();
        var_dump($client->later(1, 'now'), $client->later(1, ['a' => [1, 2.5, null, true]]));
        var_dump(strlen($client->later(1, str_repeat('long ', 100_000))));
        try {
            $client->fail('on purpose');
        } catch (SoapFault $e) {
            echo $e->faultcode, ' ', $e->getMessage(), "\n";
        }
        try {
            @client('http://127.0.0.1:1/')->later(1, 1);
        } catch (SoapFault $e) {
            echo $e->faultcode, ' ', $e->getMessage(), "\n";
        }
    },
    'waits' => static fn (int $n): string => (string) client()->later(500, $n),
];
