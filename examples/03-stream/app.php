<?php
// A response made while it is sent: server-sent events, one a second. Each waiting client costs a few kilobytes.
//
//     weft serve examples/03-stream/app.php
//     curl -N 'http://127.0.0.1:8080/?ticks=3'

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\Writer;

return function (Request $request): Response {
    $ticks = max(1, min(3600, (int) $request->query('ticks', '10')));
    $pause = max(1, min(1000, (int) $request->query('pause_ms', '1000')));

    return new Response(
        function (Writer $writer) use ($ticks, $pause): void {
            for ($i = 1; $i <= $ticks; $i++) {
                if (!$writer->write("event: tick\ndata: $i\n\n")) {
                    return; // the client has gone
                }
                usleep($pause * 1000); // parks this coroutine; the others run
            }
        },
        headers: ['Content-Type' => 'text/event-stream', 'Cache-Control' => 'no-store'],
    );
};
