<?php
/*
 * One entry for each piece of state that a request owns: how request $n changes it, and what it then observes. Each
 * request observes before its change, after it, and after a wait in which other requests have changed theirs.
 */

final class Variable
{
    public $context;

    public function stream_open(string $path, string $mode, int $options, ?string &$opened): bool
    {
        return true;
    }

    public function stream_read(int $bytes): string
    {
        return '';
    }

    public function stream_eof(): bool
    {
        return true;
    }

    public function stream_stat(): array
    {
        return [];
    }
}

final class Upper extends php_user_filter
{
}

final class Ticks
{
    public static array $seen = [];
}

$closed = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) substr(strrchr(stream_socket_get_name($closed, false), ':'), 1);
fclose($closed);
@mkdir('directories');
foreach (range(0, 3) as $i) {
    @mkdir("directories/$i");
    touch("directories/$i/file$i");
}
file_put_contents('small.xml', '<small/>');
putenv('BOOTED=yes');
$zones = ['Europe/Berlin', 'Asia/Tokyo', 'UTC', 'America/New_York'];

function fail_at_odd(): void
{
    trigger_error('fatal', E_USER_ERROR);
}

function fail_at_even(): void
{
    trigger_error('fatal', E_USER_ERROR);
}

/** Its conversion to text waits. */
final class Slow
{
    public function __construct(private string $text)
    {
    }

    public function __toString(): string
    {
        usleep(300);

        return $this->text;
    }
}

$items = [
    'preg_last_error' => [
        fn (int $n) => preg_match($n % 2 ? '/(?:\D+|<\d+>)*[!?]/' : '/a/', 'foobar foobar foobar'),
        fn () => preg_last_error(),
    ],
    'json_last_error' => [fn (int $n) => json_decode($n % 2 ? '{' : '1'), fn () => json_last_error()],
    'date_get_last_errors' => [
        fn (int $n) => date_create($n % 2 ? "no date $n" : 'now'),
        fn () => date_get_last_errors(),
    ],
    'date_default_timezone' => [
        fn (int $n) => date_default_timezone_set($zones[$n % 4]),
        fn () => date_default_timezone_get(),
    ],
    'error_get_last' => [fn (int $n) => @trigger_error("warning $n", E_USER_WARNING), fn () => error_get_last()['message'] ?? null],
    'trace of a fatal error that a handler took' => [ // since PHP 8.5
        function (int $n): void {
            @trigger_error('warning', E_USER_WARNING);
            set_error_handler(fn () => true);
            $n % 2 ? fail_at_odd() : fail_at_even();
            restore_error_handler();
        },
        fn () => array_column(error_get_last()['trace'] ?? [], 'function')[1] ?? null,
    ],
    'mb_internal_encoding' => [
        fn (int $n) => mb_internal_encoding(['UTF-8', 'ISO-8859-1', 'SJIS'][$n % 3]),
        fn () => [mb_internal_encoding(), mb_strlen("\xc3\xa4")],
    ],
    'mb_detect_order' => [
        fn (int $n) => mb_detect_order($n % 2 ? ['ASCII', 'UTF-8'] : ['SJIS', 'EUC-JP', 'UTF-8']),
        fn () => mb_detect_order(),
    ],
    'mb_substitute_character' => [fn (int $n) => mb_substitute_character(63 + $n % 5), fn () => mb_substitute_character()],
    'mb_http_output' => [fn (int $n) => mb_http_output($n % 2 ? 'UTF-8' : 'SJIS'), fn () => mb_http_output()],
    'mb_language' => [fn (int $n) => mb_language($n % 2 ? 'German' : 'Japanese'), fn () => mb_language()],
    'intl error' => [
        fn (int $n) => $n % 2 ? grapheme_strlen("\xff") : grapheme_strlen('a'),
        fn () => [intl_get_error_code(), intl_get_error_message()],
    ],
    'Locale::setDefault' => [fn (int $n) => Locale::setDefault(['de_DE', 'fr_FR', 'ja_JP'][$n % 3]), fn () => Locale::getDefault()],
    'mysqli_connect_error' => [
        function (int $n) use ($port) {
            mysqli_report(MYSQLI_REPORT_OFF);
            $n % 2 && @mysqli_connect('127.0.0.1', 'a', 'b', 'c', $port);
        },
        fn () => [mysqli_connect_errno(), mysqli_connect_error()],
    ],
    'mysqli_report' => [
        fn (int $n) => mysqli_report($n % 2 ? MYSQLI_REPORT_OFF : MYSQLI_REPORT_ERROR),
        fn () => (new mysqli_driver())->report_mode,
    ],
    'posix_get_last_error' => [fn (int $n) => $n % 2 ? posix_kill(0x7ffffff0, 0) : posix_getpid(), fn () => posix_get_last_error()],
    'pcntl_get_last_error' => [
        fn (int $n) => $n % 2 ? pcntl_waitpid(0x7ffffff0, $status, WNOHANG) : 0,
        fn () => pcntl_get_last_error(),
    ],
    'openssl_error_string' => [
        fn (int $n) => $n % 2 ? openssl_pkey_get_private("no key $n") : true,
        function () {
            $errors = [];
            while ($error = openssl_error_string()) {
                $errors[] = $error;
            }
            return $errors;
        },
        'once', // reading empties it
    ],
    'libxml_use_internal_errors' => [
        function (int $n) {
            libxml_use_internal_errors($n % 2 === 1);
            @simplexml_load_string("<a><b$n></a>");
        },
        function () {
            $errors = array_map(fn ($error) => $error->message, libxml_get_errors());
            $on = libxml_use_internal_errors(true);
            libxml_use_internal_errors($on);
            return [$on, $on ? $errors : []];
        },
    ],
    'libxml_set_external_entity_loader' => [
        fn (int $n) => libxml_set_external_entity_loader($n % 2 ? fn () => null : null),
        fn () => libxml_get_external_entity_loader() !== null,
    ],
    'putenv' => [
        function (int $n) {
            putenv("ISOLATED=$n");
            putenv($n % 2 ? 'BOOTED' : "BOOTED=$n");
            putenv('TZ=' . ['Europe/Berlin', 'UTC'][$n % 2]);
        },
        fn () => [getenv('ISOLATED'), getenv('BOOTED'), getenv('TZ'), getenv()['ISOLATED'] ?? false],
    ],
    'getenv of a child' => [fn (int $n) => putenv("CHILD=$n"), fn () => shell_exec('echo $CHILD')],
    'stream_context_set_default' => [
        fn (int $n) => stream_context_set_default(['http' => ['user_agent' => "agent $n"]]),
        fn () => stream_context_get_options(stream_context_get_default()),
    ],
    'stream_wrapper_register' => [
        fn (int $n) => stream_wrapper_register('own' . $n % 3, Variable::class),
        fn () => array_values(array_filter(stream_get_wrappers(), fn ($name) => str_starts_with($name, 'own'))),
    ],
    'stream_register_wrapper' => [ // an alias
        fn (int $n) => stream_register_wrapper('own' . $n % 3, Variable::class),
        fn () => array_values(array_filter(stream_get_wrappers(), fn ($name) => str_starts_with($name, 'own'))),
    ],
    'stream_wrapper_unregister' => [
        fn (int $n) => $n % 2 ? stream_wrapper_unregister('http') : stream_wrapper_unregister('ftp'),
        fn () => array_values(array_intersect(stream_get_wrappers(), ['http', 'ftp', 'file'])),
    ],
    'stream_filter_register' => [
        fn (int $n) => stream_filter_register('own.' . $n % 3, Upper::class),
        fn () => array_values(array_filter(stream_get_filters(), fn ($name) => str_starts_with($name, 'own'))),
    ],
    'register_tick_function' => [
        fn (int $n) => register_tick_function(function () use ($n) {
            Ticks::$seen[$n] = ($_GET['n'] ?? null) === (string) $n;
        }),
        function () {
            Ticks::$seen = [];
            declare(ticks=1) {
                $a = 1;
            }
            return Ticks::$seen;
        },
    ],
    'ini_set' => [fn (int $n) => ini_set('precision', (string) (5 + $n % 10)), fn () => ini_get('precision') . ' ' . 1 / 3],
    'error_reporting' => [fn (int $n) => error_reporting(E_ALL & ~(1 << $n % 5)), fn () => error_reporting()],
    'set_error_handler' => [
        fn (int $n) => set_error_handler(fn (int $code, string $text) => Ticks::$seen['handled'] = "$n: $text"),
        function () {
            Ticks::$seen['handled'] = null;
            @trigger_error('a');
            return Ticks::$seen['handled'];
        },
    ],
    'include_path' => [fn (int $n) => set_include_path("/path/$n"), fn () => get_include_path()],
    'chdir' => [fn (int $n) => chdir('directories/' . $n % 4), fn () => basename(getcwd()) === 'directories' ? '' : getcwd()],
    'umask' => [fn (int $n) => umask([022, 027, 077][$n % 3]), fn () => umask()],
    'setlocale' => [fn (int $n) => setlocale(LC_ALL, $n % 2 ? 'C.UTF-8' : 'POSIX'), fn () => setlocale(LC_ALL, '0')],
    'textdomain' => [fn (int $n) => textdomain("domain$n"), fn () => textdomain(null)],
    'assert_options' => [
        fn (int $n) => @assert_options(ASSERT_CALLBACK, "callback$n"),
        fn () => @assert_options(ASSERT_CALLBACK),
    ],
    'session' => [
        function (int $n) {
            session_id("session$n");
            session_start(['save_path' => __DIR__, 'use_cookies' => 0, 'cache_limiter' => '']);
            $_SESSION['n'] = $n;
        },
        fn () => [session_status(), session_id(), $_SESSION['n'] ?? null],
    ],
    'header_register_callback' => [
        fn (int $n) => header_register_callback(fn () => header("X-Callback: $n")),
        fn () => null,
    ],
    'http_response_code' => [fn (int $n) => http_response_code([200, 201, 202, 203][$n % 4]), fn () => http_response_code()],
    'headers' => [fn (int $n) => header("X-N: $n"), fn () => preg_grep('/^X-N/', headers_list())],
    'ob_start' => [
        function (int $n) {
            ob_start();
            echo "buffered $n";
        },
        fn () => [ob_get_level(), ob_get_contents()],
    ],
    'spl_autoload_extensions' => [
        fn (int $n) => spl_autoload_extensions(".own$n"),
        fn () => spl_autoload_extensions(),
    ],
    'libxml_disable_entity_loader' => [
        fn (int $n) => @libxml_disable_entity_loader($n % 2 === 1),
        fn () => @simplexml_load_file(__DIR__ . '/small.xml') !== false,
    ],
    'mb_regex_encoding' => [fn (int $n) => mb_regex_encoding($n % 2 ? 'SJIS' : 'EUC-JP'), fn () => mb_regex_encoding()],
    'mb_regex_set_options' => [fn (int $n) => mb_regex_set_options($n % 2 ? 'ir' : 'mj'), fn () => mb_regex_set_options()],
    'mb_ereg_search' => [
        function (int $n) {
            mb_ereg_search_init("secret$n secret$n secret$n", 'secret[0-9]+');
            mb_ereg_search();
        },
        fn () => [@mb_ereg_search_getregs(), @mb_ereg_search_getpos()],
    ],
    'mb_get_info' => [
        fn (int $n) => mb_convert_encoding(str_repeat("\xff", $n % 7), 'UTF-16', 'UTF-8'),
        fn () => mb_get_info('illegal_chars'),
    ],
    'odbc_errormsg' => [
        fn (int $n) => @odbc_connect("DRIVER={no driver $n};", '', ''),
        fn () => [odbc_error(), odbc_errormsg()],
    ],
    'bcscale' => [fn (int $n) => bcscale($n), fn () => [bcscale(), bcdiv('1', '3')]],
    'gmp_random_seed' => [
        function (int $n) {
            gmp_random_seed($n);
        },
        fn () => null,
    ],
    'snmp_set_valueretrieval' => [
        fn (int $n) => snmp_set_valueretrieval($n % 2 ? SNMP_VALUE_PLAIN : SNMP_VALUE_OBJECT),
        fn () => snmp_get_valueretrieval(),
    ],
    'snmp_set_quick_print' => [
        function (int $n) {
            snmp_set_quick_print($n % 2 === 1);
            snmp_set_enum_print($n % 2 === 0);
        },
        fn () => snmp_get_quick_print(),
    ],
    'readdir' => [
        function (int $n) {
            opendir('directories/' . $n % 4);
        },
        function () {
            try {
                $names = [];
                rewinddir();
                while (($name = readdir()) !== false) {
                    $names[] = $name;
                }
                sort($names);
                return $names;
            } catch (TypeError $error) {
                return $error->getMessage();
            }
        },
    ],
    'output_add_rewrite_var' => [
        fn (int $n) => output_add_rewrite_var('own', (string) $n),
        fn () => null,
    ],
    'stat cache' => [
        function (int $n) {
            touch("stat$n");
            is_file("stat$n");
        },
        fn () => null,
    ],
];

/* A service that waits, and a client that converts the service's objects into its own. */
$service = function (): string {
    usleep(1500);
    header('Content-Type: text/xml');

    return '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:x="http://www.w3.org/2001/XMLSchema-instance"><e:Body>'
        . '<a:askResponse xmlns:a="urn:a"><return x:type="a:thing">a thing</return></a:askResponse></e:Body></e:Envelope>';
};
$soap = function (int $n): string {
    $thing = ['type_ns' => 'urn:a', 'type_name' => 'thing', 'from_xml' => fn (string $xml) => "thing of $n"];
    $url = "http://127.0.0.1:{$_GET['port']}/?item=service";
    $client = new SoapClient(null, ['location' => $url, 'uri' => 'urn:a', 'typemap' => $n % 2 ? [$thing] : []]);

    return $client->ask();
};

/* State that a call keeps while it runs, with a wait inside the call. */
$calls = [
    'array_multisort' => function (int $n): array {
        $first = array_map(fn (int $i) => new Slow((string) ($i * 7 % 10)), range(0, 4));
        $second = range(0, 4);
        array_multisort($first, $n % 2 ? SORT_ASC : SORT_DESC, SORT_STRING, $second);

        return $n % 2 ? $second : array_reverse($second);
    },
    'collator' => function (int $n): array {
        $collator = new Collator('en');
        $collator->setAttribute(Collator::CASE_FIRST, $n % 2 ? Collator::UPPER_FIRST : Collator::LOWER_FIRST);
        $words = [new Slow('b'), new Slow('B'), new Slow('a'), new Slow('A')];
        $collator->sort($words);

        return [implode($words) === ($n % 2 ? 'AaBb' : 'aAbB')];
    },
    'highlight_string' => function (int $n): array {
        $text = "<?php \$own$n = 'text of $n'; // and $n\n function f$n() { return $n; }";
        ob_start(function (string $piece) {
            usleep(200);

            return $piece;
        }, 1);
        highlight_string($text);
        ob_end_flush();

        return [$n];
    },
    'eval' => function (int $n): array {
        set_error_handler(function () {
            usleep(300);

            return true;
        });
        $value = eval("function evaluated$n(\$optional = 1, \$required) { return \$required + $n; } return evaluated$n(1, $n);");

        return [$value === 2 * $n];
    },
    'ticks' => function (int $n): array {
        $count = 0;
        register_tick_function(function () use (&$count) {
            $count++;
        });
        usleep(200);
        declare(ticks=3) {
            for ($i = 0; $i < 30; $i++) {
                usleep(20);
            }
        }

        return [$count];
    },
];

$random = function (int $n): array {
    mt_srand($n);
    $first = mt_rand();
    usleep(1500);
    $second = mt_rand();
    $engine = new Random\Engine\Mt19937($n);
    $next = fn () => unpack('V', $engine->generate())[1] >> 1;

    return [$first === $next(), $second === $next()];
};
/* Each seed has its numbers, whoever else draws between two of them. */
$gmp = function (int $n): array {
    $draw = fn () => gmp_strval(gmp_random_bits(64));
    gmp_random_seed($n);
    $whole = [$draw(), $draw(), $draw()];
    gmp_random_seed($n);
    $parts = [$draw()];
    usleep(1500);
    $parts[] = $draw();
    usleep(500);
    $parts[] = $draw();

    return [$whole === $parts];
};
$gzip = function (int $n): bool {
    ob_start();
    ob_start('ob_gzhandler');
    echo str_repeat("some text $n ", 20);
    usleep(1500);
    echo "more $n";
    ob_end_flush();

    return gzdecode(ob_get_clean()) === str_repeat("some text $n ", 20) . "more $n";
};
$filter = function (int $n): array {
    $read = fn () => [
        filter_input(INPUT_GET, 'n'), filter_input(INPUT_GET, 'list', FILTER_DEFAULT, FILTER_REQUIRE_ARRAY),
        filter_input(INPUT_COOKIE, 'c'), filter_input(INPUT_POST, 'p', FILTER_VALIDATE_INT), filter_has_var(INPUT_COOKIE, 'none'),
        filter_input(INPUT_SERVER, 'REQUEST_METHOD'), filter_input_array(INPUT_COOKIE),
    ];
    $before = $read();
    usleep(1500);

    return [$before, $read()];
};

return function (Weft\Http\Request $request) use ($items, $calls, $random, $gmp, $filter, $gzip, $service, $soap): string {
    $n = (int) $request->query('n');
    $name = $request->query('item');
    if ($name === 'names') {
        return json_encode(array_keys($items));
    }
    if (in_array($name, ['random', 'gmp', 'filter', 'gzip', 'soap'], true)) {
        return json_encode($$name($n));
    }
    if ($name === 'service') {
        return $service();
    }
    if (isset($calls[$name])) {
        return json_encode($calls[$name]($n));
    }
    [$change, $observe] = $items[$name];
    $before = $observe();
    $change($n);
    $after = isset($items[$name][2]) ? null : $observe();
    usleep(500 + $n * 100 % 1500);
    $later = $observe();
    while (ob_get_level()) {
        ob_end_clean();
    }

    return json_encode([$before, $after, $later], JSON_THROW_ON_ERROR | JSON_PARTIAL_OUTPUT_ON_ERROR);
};
