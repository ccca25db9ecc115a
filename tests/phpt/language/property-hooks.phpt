--TEST--
Property hooks that wait
--PHP--
>= 8.4
--FILE--
<?php
class Account
{
    public private(set) int $reads = 0;
    /** Virtual. */
    public string $title {
        get {
            usleep(1000);

            return strtoupper($this->name);
        }
    }
    /** Backed, and both wait. */
    public string $name = 'nobody' {
        get {
            $this->reads++;
            usleep(1000);

            return $this->name;
        }
        set (string|Stringable $value) {
            usleep(1000);
            if ($value === '') {
                throw new ValueError('a name is needed');
            }
            $this->name = (string) $value;
        }
    }
    public array $list {
        &get {
            usleep(500);

            return $this->held;
        }
    }
    private array $held = [];
}

$account = new Account();
$account->name = 'ada';
echo $account->title, ' ', $account->name, ' ', $account->reads, "\n";
try {
    $account->name = '';
} catch (ValueError $e) {
    echo $e->getMessage(), "\n";
}
$account->name .= ' b.';
echo $account->name, "\n";
foreach ($account as $name => $value) {
    echo $name, '=', json_encode($value), "\n";
}
echo json_encode($account), "\n";
try {
    $account->reads = 1;
} catch (Error $e) {
    echo $e->getMessage(), "\n";
}
--EXPECT--
ADA ada 2
a name is needed
ada b.
reads=4
title="ADA B."
name="ada b."
list=[]
{"reads":6,"title":"ADA B.","name":"ada b.","list":[]}
Cannot modify private(set) property Account::$reads from global scope
