<?php

/* ext-snmp: get, getnext, walk, set, versions 1 to 3, objects with their own form of output, an agent that does not answer. */

declare(strict_types=1);

const NAME = '.1.3.6.1.2.1.1.5.0';
const PLACE = '.1.3.6.1.2.1.1.6.0';
const SYSTEM = '.1.3.6.1.2.1.1';

function agent(): string
{
    return '127.0.0.1:' . getenv('SNMP_PORT');
}

return [
    'prints' => static function (): void {
        var_dump(snmpget(agent(), 'public', NAME), snmp2_get(agent(), 'public', [NAME, PLACE]));
        var_dump(snmp2_getnext(agent(), 'public', '.1.3.6.1.2.1.1.4'), count(snmp2_walk(agent(), 'public', SYSTEM)) > 5);
        var_dump(snmp3_get(agent(), 'reader', 'authPriv', 'SHA', 'a long pass phrase', 'AES', 'another pass phrase', NAME));
        $plain = new SNMP(SNMP::VERSION_2C, agent(), 'public');
        $quick = new SNMP(SNMP::VERSION_2C, agent(), 'public');
        $quick->quick_print = true;
        $quick->oid_output_format = SNMP_OID_OUTPUT_NUMERIC;
        $quick->valueretrieval = SNMP_VALUE_PLAIN;
        foreach (range(1, 20) as $_) {
            $seen = [$plain->get([NAME, PLACE]), $quick->get([NAME, PLACE])];
            if ($seen !== ($before ??= $seen)) {
                echo json_encode([$before, $seen]), "\n";
            }
        }
        var_dump($before);
        snmp_set_quick_print(true);
        snmp_set_valueretrieval(SNMP_VALUE_PLAIN);
        var_dump(snmp2_get(agent(), 'public', NAME), snmp_get_quick_print());
        snmp_set_quick_print(false);
        snmp_set_valueretrieval(SNMP_VALUE_LIBRARY);
        var_dump(snmp2_get(agent(), 'public', NAME));
        try {
            snmp2_set(agent(), 'public', PLACE, 's', 'elsewhere');
        } catch (ErrorException $e) {
            echo preg_replace('/\s+/', ' ', $e->getMessage()), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $silent = stream_socket_server('udp://127.0.0.1:0', $error, $message, STREAM_SERVER_BIND);
        $answer = @snmp2_get(stream_socket_get_name($silent, false), 'public', NAME, 500_000, 0);

        return $answer === false ? (string) $n : 'an answer';
    },
];
