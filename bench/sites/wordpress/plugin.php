<?php
/* Plugin Name: Asks a slow service, as many plugins do; and takes turns with another page to measure the cost
 * of a switch. */
require_once getenv('BENCH_TURNS');

add_action('init', function (): void {
    $ms = (int) ($_GET['ms'] ?? 0);
    if ($ms > 0) {
        $url = 'http://127.0.0.1:' . getenv('BENCH_UPSTREAM_PORT') . "/?ms=$ms";
        $said = wp_remote_retrieve_body(wp_remote_get($url));
        add_action('wp_footer', fn () => print "<p>$said</p>");
    }
});
// The page's blocks are rendered by then, but its text is not sent yet.
add_action('wp_head', function (): void {
    if (isset($_GET['rounds'])) {
        print take_turns((int) $_GET['rounds'], (int) $_GET['players'], (int) $_GET['board']);
    }
});
