<?php

/**
 * What PHP code costs that calls PHP's own functions all the time: run by `php` and by `weft php`, it tells what the shared
 * library of the distribution costs beside its executable. Takes a number of rounds, 700 by default.
 */

declare(strict_types=1);

final class Items
{
    /** @var array<string, array{name: string}> */
    private array $items = [];

    /** @param array{name: string} $item */
    public function set(string $key, array $item): void
    {
        $this->items[$key] = $item;
    }

    /** @return array{name: string} */
    public function get(string $key): array
    {
        return $this->items[$key];
    }
}

$sum = 0;
for ($round = (int) ($argv[1] ?? 700); $round > 0; $round--) {
    $items = new Items();
    for ($i = 0; $i < 2000; $i++) {
        $items->set("key $i", ['name' => str_repeat(chr(97 + ($i % 26)), 10)]);
        $name = $items->get("key $i")['name'];
        $words = explode(',', "c,b,a,$name");
        usort($words, static fn(string $a, string $b): int => strcmp($a, $b));
        $sum += strlen((string) preg_replace('/a+/', 'b', htmlspecialchars("<b>$name</b>"))) + count($words);
    }
}
echo $sum, "\n";
