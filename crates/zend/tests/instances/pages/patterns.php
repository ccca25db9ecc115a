<?php

declare(strict_types=1);

// The same regular expressions in every instance. With `own`, it also compiles enough of its own that PHP drops the
// shared ones, of which it keeps 4,096 (ext/pcre/php_pcre.c), and uses other settings: while one instance uses
// patterns, others release them.
const COMMON = 400;
$n = (int) $_GET['n'];
$own = isset($_GET['own']);

function common(int $n): void
{
    for ($i = 0; $i < COMMON; $i++) {
        $pattern = "/^(?:word{$i}|other{$i}|[a-f]+{$i}|x{$i}y*z?)-(\d+)(?<rest>.*)$/";
        if (preg_match($pattern, "word$i-{$n}rest", $found) !== 1 || $found[1] !== "$n" || $found['rest'] !== 'rest') {
            exit("pattern $i found " . json_encode($found));
        }
        if ($i % 100 === $n % 100) {
            usleep(200);
        }
    }
}

// Patterns that differ in anything besides the text are not the same.
function alike(): void
{
    $found = [preg_match('/^B+$/m', "a\nb\nB"), preg_match('/^B+$/im', "a\nb\nB"), preg_match('/^B+$/', "a\nb\nB"), preg_match('/^.$/', 'ä'),
        preg_match('/^.$/u', 'ä'), preg_replace('/b+?/', '-', 'abb'), preg_replace('/b+?/U', '-', 'abb'), preg_replace('/(b)/', '<\1>', 'b'),
        @preg_replace('/(b)/n', '<\1>', 'b'), @preg_match('/(/', 'x'), preg_match("/a\0b/", "a\0b"), preg_match("/a\0c/", "a\0b")];
    $found === [1, 1, 0, 0, 1, 'a--', 'a-', '<b>', '<>', false, 1, 0] or exit(json_encode($found));
}

if ($own && $n % 3 === 0) {
    ini_set('pcre.jit', '0');
}
if ($own && $n % 4 === 0) {
    setlocale(LC_CTYPE, 'C.UTF-8');
}
common($n);
alike();
$replaced = preg_replace_callback("/[a-c](?=x)/", function (array $found) use ($n): string {
    usleep(200);
    return $found[0] . $n;
}, 'axbxcx');
for ($i = 0; $own && $i < 4200; $i++) {
    preg_match("/^$n-$i$/", "$n-$i") === 1 or exit("own pattern $i");
    if ($i % 1000 === 0) {
        usleep(200);
    }
}
common($n);
alike();
echo $replaced === "a{$n}xb{$n}xc{$n}x" ? "calm $n" : $replaced;
