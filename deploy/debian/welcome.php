<?php
// What weft serves until /etc/weft/weft.toml names an application.

return fn (): string => <<<'HTML'
    <!doctype html>
    <html lang="en">
    <title>weft works</title>
    <h1>weft works</h1>
    <p>Name your application in <code>/etc/weft/weft.toml</code>, look at it with
    <code>weft check --config /etc/weft/weft.toml</code>, then <code>systemctl reload weft</code>.</p>
    </html>

    HTML;
