<?php

// One entry for each extension: the state of it that request $n has, before and after waits in which others have
// theirs. Each entry yields pairs of what it sees and what it should see. Extensions that are clients of servers are in
// tests/clients.
$n = (int) $_GET['n'];
$in = $_GET['in'] ?? sys_get_temp_dir();

$extensions = [
    'apcu' => function () use ($n) {
        apcu_store("own$n", [$n]);
        yield [apcu_fetch("own$n"), [$n]];
        yield [apcu_entry("entry$n", fn () => [usleep(300), $n]), [null, $n]];
        yield [apcu_delete("own$n"), true];
    },
    'bcmath' => function () use ($n) {
        bcscale($n % 10);
        yield [bcscale(), $n % 10];
        yield [bcdiv('1', '3'), $n % 10 ? '0.' . str_repeat('3', $n % 10) : '0'];
        yield [bcpowmod("$n", '2', '1000000007', 0), (string) ($n * $n)];
    },
    'calendar' => function () use ($n) {
        yield [jdtogregorian(2460000 + $n), date('n/j/Y', jdtounix(2460000 + $n))];
        yield [cal_days_in_month(CAL_GREGORIAN, 2, 2000 + $n), $n % 4 ? 28 : 29];
    },
    'Core' => function () use ($n) {
        $old = set_error_handler(fn (int $level, string $text) => $GLOBALS['said'] = "$n $text");
        yield [$old, null];
        echo $undefined;
        yield [$GLOBALS['said'], "$n Undefined variable \$undefined"];
        restore_error_handler();
        yield [gc_enabled(), true];
    },
    'ctype' => function () use ($n) {
        yield [ctype_digit("$n"), true];
        yield [ctype_alpha("a$n"), false];
    },
    'curl' => function () use ($n) {
        $curl = curl_init("file://" . __FILE__);
        curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_PRIVATE => "$n"]);
        yield [curl_getinfo($curl, CURLINFO_PRIVATE), "$n"];
        yield [curl_exec($curl), file_get_contents(__FILE__)];
        curl_setopt($curl, CURLOPT_URL, "nothing://$n");
        yield [curl_exec($curl), false];
        yield [curl_errno($curl), CURLE_UNSUPPORTED_PROTOCOL];
    },
    'date' => function () use ($n) {
        date_default_timezone_set($n % 2 ? 'Asia/Tokyo' : 'America/New_York');
        yield [date('H', 1_000_000), $n % 2 ? '22' : '08'];
        $date = new DateTime("2020-01-01 + $n days");
        yield [(int) $date->format('z'), $n % 366];
    },
    'dom' => function () use ($n) {
        $document = new DOMDocument();
        $document->loadXML("<a><b id='$n'/></a>");
        yield [(new DOMXPath($document))->evaluate('string(//b/@id)'), "$n"];
        $document->documentElement->appendChild($document->createElement("c$n"));
        yield [$document->documentElement->lastChild->nodeName, "c$n"];
    },
    'exif' => function () {
        yield [exif_tagname(0x010F), 'Make'];
        yield [@exif_read_data(__FILE__), false];
    },
    'FFI' => function () use ($n) {
        $libc = FFI::cdef('int abs(int);', 'libc.so.6');
        $array = FFI::cdef()->new('int[4]');
        $array[2] = $n;
        yield [$libc->abs(-$n), $n];
        yield [$array[2], $n];
    },
    'fileinfo' => function () use ($n, $in) {
        $info = new finfo(FILEINFO_MIME_TYPE);
        file_put_contents("$in/info$n", $n % 2 ? "GIF89a\1\0\1\0" : "%PDF-1.4\n");
        yield [$info->file("$in/info$n"), $n % 2 ? 'image/gif' : 'application/pdf'];
        yield [$info->buffer("<?php echo $n;"), 'text/x-php'];
    },
    'filter' => function () use ($n) {
        yield [filter_input(INPUT_GET, 'n', FILTER_VALIDATE_INT), $n];
        yield [filter_var("$n", FILTER_CALLBACK, ['options' => fn (string $value) => [usleep(200), "own $value"][1]]), "own $n"];
        yield [filter_input(INPUT_GET, 'n'), "$n"];
    },
    'gd' => function () use ($n) {
        $image = imagecreatetruecolor(10 + $n, 5);
        imagefilledrectangle($image, 0, 0, 10 + $n, 5, 0x010101 * $n);
        yield [imagesx($image), 10 + $n];
        yield [imagecolorat($image, 3, 3), 0x010101 * $n];
        ob_start();
        imagepng($image);
        $png = ob_get_clean();
        yield [imagesx(imagecreatefromstring($png)), 10 + $n];
    },
    'gettext' => function () use ($n) {
        yield [gettext("untranslated $n"), "untranslated $n"];
    },
    'gmp' => function () use ($n) {
        $draw = fn () => gmp_strval(gmp_random_bits(64));
        gmp_random_seed($n);
        $first = $draw();
        usleep(300);
        $second = $draw();
        gmp_random_seed($n);
        yield [[$draw(), $draw()], [$first, $second]];
        $power = gmp_pow(2, 100 + $n);
        yield [gmp_strval(gmp_div_q($power, gmp_pow(2, 100))), gmp_strval(gmp_pow(2, $n))];
    },
    'hash' => function () use ($n) {
        $context = hash_init('sha256');
        hash_update($context, "a$n");
        yield [hash('crc32b', "$n"), sprintf('%08x', crc32("$n"))];
        hash_update($context, 'b');
        yield [hash_final($context), hash('sha256', "a{$n}b")];
    },
    'iconv' => function () use ($n) {
        yield [iconv('UTF-8', 'ISO-8859-1', "ä$n"), "\xe4$n"];
        yield [iconv_strlen("ä$n"), 1 + strlen("$n")];
    },
    'igbinary' => function () use ($n) {
        $text = igbinary_serialize(['n' => $n]);
        yield [igbinary_unserialize($text), ['n' => $n]];
    },
    'intl' => function () use ($n) {
        Locale::setDefault($n % 2 ? 'de_DE' : 'en_US');
        yield [Locale::getDefault(), $n % 2 ? 'de_DE' : 'en_US'];
        $format = new NumberFormatter($n % 2 ? 'de_DE' : 'en_US', NumberFormatter::DECIMAL);
        yield [$format->format(1234.5), $n % 2 ? '1.234,5' : '1,234.5'];
        $n % 2 ? grapheme_strlen("\xff") : grapheme_strlen('a');
        yield [intl_get_error_code() === U_ZERO_ERROR, $n % 2 === 0];
    },
    'json' => function () use ($n) {
        json_decode($n % 2 ? '{' : '1');
        yield [json_last_error(), $n % 2 ? JSON_ERROR_SYNTAX : JSON_ERROR_NONE];
        yield [json_decode(json_encode(['n' => $n]), true), ['n' => $n]];
    },
    'lexbor' => function () use ($n) {
        yield [Dom\HTMLDocument::createFromString("<p id=a>$n</p>", LIBXML_NOERROR)->querySelector('#a')->textContent, "$n"];
    },
    'libxml' => function () use ($n) {
        libxml_use_internal_errors(true);
        simplexml_load_string("<a><b$n></a>");
        yield [str_contains(libxml_get_errors()[0]->message, "b$n"), true];
        libxml_clear_errors();
        yield [libxml_get_errors(), []];
    },
    'mbstring' => function () use ($n) {
        $encoding = ['UTF-8', 'ISO-8859-1', 'SJIS'][$n % 3];
        mb_internal_encoding($encoding);
        mb_regex_encoding($n % 2 ? 'UTF-8' : 'EUC-JP');
        mb_ereg_search_init("a$n", '[0-9]+');
        yield [mb_internal_encoding(), $encoding];
        yield [mb_regex_encoding(), $n % 2 ? 'UTF-8' : 'EUC-JP'];
        yield [mb_ereg_search_regs(), ["$n"]];
    },
    'msgpack' => function () use ($n) {
        yield [msgpack_unpack(msgpack_pack([$n, 'a' => "b$n"])), [$n, 'a' => "b$n"]];
    },
    'openssl' => function () use ($n) {
        $key = openssl_digest("$n", 'sha256', true);
        $secret = openssl_encrypt("text $n", 'aes-256-cbc', $key, 0, str_repeat("\0", 16));
        yield [openssl_decrypt($secret, 'aes-256-cbc', $key, 0, str_repeat("\0", 16)), "text $n"];
    },
    'pcntl' => function () use ($n) {
        $child = pcntl_fork();
        if ($child === 0) {
            posix_kill(getmypid(), SIGKILL);
        }
        yield [pcntl_waitpid($child, $status), $child];
        yield [pcntl_wtermsig($status), SIGKILL];
    },
    'pcre' => function () use ($n) {
        preg_match($n % 2 ? '/(?:\D+|<\d+>)*[!?]/' : '/a/', 'foobar foobar foobar');
        yield [preg_last_error(), $n % 2 ? PREG_BACKTRACK_LIMIT_ERROR : PREG_NO_ERROR];
        yield [preg_replace_callback("/$n/", fn (array $found) => [usleep(200), "<$found[0]>"][1], "a{$n}b"), "a<$n>b"];
    },
    'PDO' => function () use ($n) {
        $pdo = new PDO('sqlite::memory:');
        yield [$pdo->query("SELECT $n AS n")->fetchObject()->n, $n];
        yield [PDO::getAvailableDrivers() !== [], true];
    },
    'pdo_sqlite' => function () use ($n) {
        $pdo = new PDO('sqlite::memory:');
        $pdo->sqliteCreateFunction('own', fn (int $value) => [usleep(200), $value * $n][1]);
        yield [(int) $pdo->query('SELECT own(3)')->fetchColumn(), 3 * $n];
        $pdo->exec("CREATE TABLE t (n); INSERT INTO t VALUES ($n)");
        yield [(int) $pdo->query('SELECT n FROM t')->fetchColumn(), $n];
    },
    'Phar' => function () use ($n, $in) {
        $data = new PharData("$in/own$n.tar");
        $data->addFromString('a.txt', "text $n");
        yield [file_get_contents("phar://$in/own$n.tar/a.txt"), "text $n"];
        yield [count($data), 1];
    },
    'posix' => function () use ($n) {
        $n % 2 ? posix_kill(0x7ffffff0, 0) : posix_kill(getmypid(), 0);
        $expected = $n % 2 ? 3 : posix_get_last_error();
        yield [posix_get_last_error(), $expected];
        yield [posix_getpid(), getmypid()];
    },
    'random' => function () use ($n) {
        mt_srand($n);
        $first = mt_rand();
        usleep(300);
        $second = mt_rand();
        mt_srand($n);
        yield [[mt_rand(), mt_rand()], [$first, $second]];
        yield [random_int($n, $n), $n];
    },
    'readline' => function () use ($n) {
        readline_add_history("line $n");
        yield [in_array("line $n", readline_list_history()), true];
    },
    'Reflection' => function () use ($n) {
        $class = new ReflectionClass(new class ($n) {
            public function __construct(public readonly int $n)
            {
            }
        });
        yield [$class->getConstructor()->getParameters()[0]->getName(), 'n'];
        yield [$class->newInstance($n)->n, $n];
    },
    'session' => function () use ($n, $in) {
        session_save_path($in);
        session_name("NAME$n");
        session_id("extension$n");
        session_start();
        $_SESSION['n'] = $n;
        yield [[session_name(), session_id()], ["NAME$n", "extension$n"]];
        session_write_close();
        session_start(['read_and_close' => true]);
        yield [$_SESSION, ['n' => $n]];
    },
    'shmop' => function () use ($n) {
        $memory = shmop_open(0x77000000 + getmypid() * 100 + $n, 'c', 0600, 16);
        shmop_write($memory, "own $n", 0);
        yield [rtrim(shmop_read($memory, 0, 16), "\0"), "own $n"];
        yield [shmop_delete($memory), true];
    },
    'SimpleXML' => function () use ($n) {
        $xml = simplexml_load_string("<a><b>$n</b></a>");
        yield [(int) $xml->b, $n];
        $xml->addChild('c', "$n");
        yield [(string) $xml->c, "$n"];
    },
    'snmp' => function () use ($n) {
        snmp_set_quick_print($n % 2 === 1);
        snmp_set_valueretrieval($n % 2 ? SNMP_VALUE_PLAIN : SNMP_VALUE_OBJECT);
        yield [snmp_get_quick_print(), $n % 2 === 1];
        yield [snmp_get_valueretrieval(), $n % 2 ? SNMP_VALUE_PLAIN : SNMP_VALUE_OBJECT];
        yield [@snmpget('127.0.0.1:1', 'public', '.1.3.6.1.2.1.1.5.0', 1000, 0), false];
        yield [snmp_get_quick_print(), $n % 2 === 1];
    },
    'sockets' => function () use ($n) {
        socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
        @socket_connect(socket_create(AF_INET, SOCK_STREAM, SOL_TCP), '127.0.0.1', 1);
        yield [socket_last_error(), SOCKET_ECONNREFUSED];
        socket_write($pair[0], "own $n");
        yield [socket_read($pair[1], 100), "own $n"];
    },
    'sodium' => function () use ($n) {
        $key = str_repeat(chr($n % 256), SODIUM_CRYPTO_SECRETBOX_KEYBYTES);
        $nonce = str_repeat("\0", SODIUM_CRYPTO_SECRETBOX_NONCEBYTES);
        $box = sodium_crypto_secretbox("text $n", $nonce, $key);
        yield [sodium_crypto_secretbox_open($box, $nonce, $key), "text $n"];
    },
    'SPL' => function () use ($n) {
        spl_autoload_register($load = function (string $class) use ($n): void {
            usleep(300);
            eval("class $class { const N = $n; }");
        });
        yield [Loaded::N, $n];
        spl_autoload_unregister($load);
        $heap = new SplMinHeap();
        array_map($heap->insert(...), [$n + 1, $n, $n + 2]);
        yield [$heap->extract(), $n];
    },
    'sqlite3' => function () use ($n) {
        $database = new SQLite3(':memory:');
        $database->createFunction('own', fn (int $value) => [usleep(200), $value * $n][1]);
        yield [$database->querySingle('SELECT own(2)'), 2 * $n];
    },
    'standard' => function () use ($n, $in) {
        putenv("EXTENSION=$n");
        chdir($n % 2 ? '/usr' : $in);
        setlocale(LC_ALL, $n % 2 ? 'C.UTF-8' : 'C');
        strtok("a$n b$n", ' ');
        yield [getenv('EXTENSION'), "$n"];
        yield [getcwd(), $n % 2 ? '/usr' : $in];
        yield [setlocale(LC_ALL, 0), $n % 2 ? 'C.UTF-8' : 'C'];
        yield [strtok(' '), "b$n"];
        yield [trim(shell_exec('echo $EXTENSION')), "$n"];
    },
    'sysvmsg' => function () use ($n) {
        $queue = msg_get_queue(0x78000000 + getmypid() * 100 + $n);
        msg_send($queue, 1, "own $n");
        msg_receive($queue, 0, $type, 100, $message);
        yield [$message, "own $n"];
        yield [msg_remove_queue($queue), true];
    },
    'sysvsem' => function () use ($n) {
        $semaphore = sem_get(0x79000000 + getmypid());
        sem_acquire($semaphore);
        $GLOBALS['within'] = $n;
        yield [$GLOBALS['within'], $n];
        yield [sem_release($semaphore), true];
    },
    'sysvshm' => function () use ($n) {
        $memory = shm_attach(0x7a000000 + getmypid() * 100 + $n, 1000);
        shm_put_var($memory, 1, [$n]);
        yield [shm_get_var($memory, 1), [$n]];
        yield [shm_remove($memory), true];
    },
    'tokenizer' => function () use ($n) {
        yield [PhpToken::tokenize("<?php $n;")[1]->text, "$n"];
    },
    'uri' => function () use ($n) {
        yield [(new Uri\WhatWg\Url("https://a.test/../$n?q=$n"))->getPath(), "/$n"];
        yield [(new Uri\Rfc3986\Uri("https://a.test/$n#b"))->resolve('c')->toString(), 'https://a.test/c'];
    },
    'uuid' => function () use ($n, $in) {
        for ($i = 0; $i < 3; $i++) {
            $own = uuid_create(UUID_TYPE_TIME);
            yield [uuid_type($own), UUID_TYPE_TIME];
            yield [mkdir("$in/$own"), true]; // nobody else gets the same one
        }
        yield [uuid_generate_sha1(uuid_create(), "$n") === uuid_generate_sha1(uuid_create(), "$n"), false];
        yield [uuid_unparse(uuid_parse($own)), $own];
    },
    'xml' => function () use ($n) {
        $seen = [];
        $parser = xml_parser_create();
        xml_set_element_handler($parser, function ($parser, string $name) use (&$seen): void {
            usleep(100);
            $seen[] = $name;
        }, fn () => null);
        xml_parse($parser, "<a><b$n/>");
        yield [$seen, ['A', "B$n"]];
        xml_parse($parser, "<c$n/></a>", true);
        yield [$seen, ['A', "B$n", "C$n"]];
    },
    'xmlreader' => function () use ($n) {
        $reader = XMLReader::XML("<a><b$n/></a>");
        $reader->read();
        yield [$reader->name, 'a'];
        $reader->read();
        yield [$reader->name, "b$n"];
    },
    'xmlwriter' => function () use ($n) {
        $writer = new XMLWriter();
        $writer->openMemory();
        $writer->startElement("a$n");
        yield [$writer->text("$n"), true];
        $writer->endElement();
        yield [$writer->outputMemory(), "<a$n>$n</a$n>"];
    },
    'xsl' => function () use ($n) {
        $sheet = new DOMDocument();
        $sheet->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:php="http://php.net/xsl">
            <xsl:output method="text"/><xsl:template match="/"><xsl:value-of select="php:function(\'own\', string(/a))"/></xsl:template></xsl:stylesheet>');
        $xsl = new XSLTProcessor();
        $xsl->registerPHPFunctions();
        $xsl->importStylesheet($sheet);
        $document = new DOMDocument();
        $document->loadXML("<a>$n</a>");
        yield [$xsl->transformToXml($document), "own $n"];
    },
    'Zend OPcache' => function () use ($n, $in) {
        $file = "$in/compiled$n.php";
        file_put_contents($file, "<?php return $n;");
        yield [include $file, $n];
        opcache_invalidate($file, true);
        file_put_contents($file, "<?php return -$n;");
        touch($file, time() - 100);
        yield [include $file, -$n];
    },
    'zlib' => function () use ($n) {
        $deflate = deflate_init(ZLIB_ENCODING_GZIP);
        $text = deflate_add($deflate, "a$n", ZLIB_NO_FLUSH);
        yield [gzuncompress(gzcompress("$n")), "$n"];
        $text .= deflate_add($deflate, 'b', ZLIB_FINISH);
        yield [gzdecode($text), "a{$n}b"];
    },
];

function own(string $text): string
{
    usleep(200);

    return "own $text";
}

$bad = [];
foreach ($extensions as $name => $test) {
    if (!extension_loaded($name)) {
        continue;
    }
    foreach ($test() as [$seen, $expected]) {
        usleep(mt_rand(50, 500));
        if ($seen !== $expected) {
            $bad[] = $name . ': ' . json_encode($seen) . ' is not ' . json_encode($expected);
        }
    }
}
echo $bad ? implode("\n", $bad) : "OK $n";
