<?php

/* ext-ldap: bind, add, search, page, modify, compare, delete, errors. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/openldap.php';

return [
    'secondsAtMost' => 0.75, // the end of a search may arrive separately, and the network delays that as well
    'prints' => static function (): void {
        $link = connect();
        $unit = unit($link);
        foreach (range(1, 20) as $n) {
            ldap_add($link, "cn=person$n,$unit", ['objectClass' => 'person', 'sn' => "Name $n", 'description' => str_repeat('x', 5000)]);
        }
        $found = ldap_search($link, $unit, '(sn=Name 1*)', ['sn']);
        $entries = ldap_get_entries($link, $found);
        var_dump($entries['count'], strlen(json_encode($entries)) > 100);
        $cookie = '';
        $pages = [];
        do {
            $control = ['oid' => LDAP_CONTROL_PAGEDRESULTS, 'value' => ['size' => 8, 'cookie' => $cookie]];
            $page = ldap_search($link, $unit, '(objectClass=person)', ['cn'], controls: [$control]);
            ldap_parse_result($link, $page, $code, controls: $controls);
            $pages[] = ldap_count_entries($link, $page);
            $cookie = $controls[LDAP_CONTROL_PAGEDRESULTS]['value']['cookie'];
        } while ($cookie !== '');
        echo json_encode($pages), "\n";
        var_dump(ldap_mod_replace($link, "cn=person1,$unit", ['sn' => 'Changed']), ldap_compare($link, "cn=person1,$unit", 'sn', 'Changed'));
        var_dump(ldap_rename($link, "cn=person1,$unit", 'cn=renamed', $unit, true), ldap_delete($link, "cn=renamed,$unit"));
        try {
            ldap_bind($link, 'cn=admin,dc=weft,dc=test', 'wrong');
        } catch (ErrorException $e) {
            echo $e->getMessage(), "\n";
        }
        try {
            ldap_bind(ldap_connect('ldap://127.0.0.1:1'));
        } catch (ErrorException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $link = connect(slow: true);
        ldap_read($link, '', '(objectClass=*)', ['namingContexts']);

        return (string) $n;
    },
];
