<?php
// The site that `make run` serves: what weft is, shown by itself. Every number on the page is made while you look at it.

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\Writer;

$booted = microtime(true);
$answered = 0;

/** Twenty clients wait 200 ms each in this one process; the page shows when each of them was done. */
function waits(Request $request): string
{
    $multi = curl_multi_init();
    for ($i = 0; $i < 20; $i++) {
        $curl = curl_init("http://{$request->host()}/wait");
        curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10]);
        curl_multi_add_handle($multi, $curl);
    }
    $start = hrtime(true);
    do {
        curl_multi_exec($multi, $running);
        curl_multi_select($multi, 1.0);
    } while ($running > 0);

    return sprintf('%.0f', (hrtime(true) - $start) / 1e6);
}

function page(Request $request, float $booted, int $answered): string
{
    $id = htmlspecialchars($request->id());
    $agent = htmlspecialchars($request->header('User-Agent') ?? 'unknown');
    $client = htmlspecialchars($request->client());
    $up = number_format(microtime(true) - $booted, 1);
    $php = PHP_VERSION;
    $worker = getmypid();

    return <<<HTML
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>weft</title>
        <style>
        :root { color-scheme: light dark; --thread: #b4552d; --soft: #8883; }
        body { font: 17px/1.6 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; }
        h1 { font-size: 3rem; letter-spacing: -.04em; margin: 0; } h1 + p { margin-top: 0; opacity: .75; }
        section { border: 1px solid var(--soft); border-radius: .75rem; padding: 1rem 1.25rem; margin: 1rem 0; }
        h2 { font-size: 1.05rem; margin: 0 0 .5rem; } dl { display: grid; grid-template-columns: 9rem 1fr; margin: 0; }
        dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
        button { font: inherit; padding: .4rem 1rem; border: 0; border-radius: .5rem; background: var(--thread); color: #fff; cursor: pointer; }
        output { display: block; margin-top: .75rem; min-height: 1.6em; font-variant-numeric: tabular-nums; }
        </style>
        <h1>weft</h1>
        <p>A coroutine application server for PHP. This page comes from <code>examples/site/app.php</code>.</p>
        <section><h2>This request</h2><dl>
          <dt>Id</dt><dd>$id</dd><dt>You</dt><dd>$client, $agent</dd>
          <dt>Worker</dt><dd>process $worker, PHP $php, up $up s, $answered requests answered</dd></dl></section>
        <section><h2>Twenty clients that wait 200 ms each</h2>
          <p>Plain curl calls this very process twenty times; each call sleeps. One at a time they would take 4,000 ms.</p>
          <button id="wait">Start</button><output id="waited"></output></section>
        <section><h2>A response that is still being made</h2>
          <p>Server-sent events from a loop with <code>usleep()</code>.</p>
          <button id="stream">Start</button><output id="ticks"></output></section>
        <script>
        const by = id => document.getElementById(id);
        by('wait').onclick = async () => {
          by('waited').textContent = 'Waiting…';
          const answer = await fetch('/waits');
          by('waited').textContent = `All twenty were done after \${await answer.text()} ms.`;
        };
        by('stream').onclick = () => {
          const events = new EventSource('/ticks');
          events.onmessage = event => { by('ticks').textContent = `Tick \${event.data} of 10`; if (event.data === '10') events.close(); };
        };
        </script>
        </html>

        HTML;
}

function ticks(Writer $writer): void
{
    for ($i = 1; $i <= 10 && $writer->write("data: $i\n\n"); $i++) {
        usleep(300_000);
    }
}

return function (Request $request) use ($booted, &$answered): Response {
    $answered++;

    return match ($request->path()) {
        '/' => new Response(page($request, $booted, $answered)),
        '/waits' => Response::text(waits($request)),
        '/wait' => Response::text((usleep(200_000) ?? '') . 'waited'),
        '/ticks' => new Response(ticks(...), headers: ['Content-Type' => 'text/event-stream', 'Cache-Control' => 'no-store']),
        default => Response::text("There is nothing here.\n", 404),
    };
};
