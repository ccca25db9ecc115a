<?php
// Computes for 0.1 to 0.2 s on an idle core: in PHP code (`rounds` times that), or in one of four kinds of C code.
$kind = $_GET['kind'] ?? 'loop';
switch ($kind) {
    case 'loop':
        for ($sum = 0, $i = 0, $end = 15_000_000 * (int) ($_GET['rounds'] ?? 1); $i < $end; $i++) {
            $sum += $i & 7;
        }
        break;
    case 'preg_match':
        ini_set('pcre.jit', '0');
        ini_set('pcre.backtrack_limit', '8000000');
        preg_match('/^(a+)+$/', str_repeat('a', 40) . 'b');
        break;
    case 'gzencode':
        mt_srand(1);
        for ($text = ''; strlen($text) < 2_000_000;) {
            $text .= mt_rand() . ' ';
        }
        gzencode($text, 9);
        break;
    case 'imagescale':
        imagescale(imagecreatetruecolor(2000, 2000), 1500, 1500, IMG_BICUBIC);
        break;
    case 'password_hash':
        password_hash('secret', PASSWORD_BCRYPT, ['cost' => 12]);
        break;
}
echo $kind;
