<?php

/* A slow SOAP service. */

declare(strict_types=1);

use Weft\Http\Request;

final class Clock
{
    public function later(int $milliseconds, mixed $value): mixed
    {
        usleep($milliseconds * 1000);

        return $value;
    }

    public function fail(string $why): never
    {
        throw new SoapFault('Client', $why);
    }
}

return static function (Request $request): string {
    $server = new SoapServer(null, ['uri' => 'urn:clock']);
    $server->setClass(Clock::class);
    ob_start();
    $server->handle($request->body());

    return ob_get_clean();
};
