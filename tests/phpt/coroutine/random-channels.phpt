--TEST--
Random sends, receives and selects, with timeouts and cancellations: every value sent is received once
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use Weft\Scope;
use Weft\TimeoutException;

mt_srand($seed = random_int(0, PHP_INT_MAX));
$channels = [new Channel(), new Channel(1), new Channel(5)];
$sent = $received = $doubtful = [];
$next = 0;
$waits = $cancelled = 0;

$step = function () use ($channels, &$sent, &$received, &$doubtful, &$next, &$waits, &$cancelled): void {
    $value = ++$next;
    [$one, $other] = [$channels[mt_rand(0, 2)], $channels[mt_rand(0, 2)]];
    $timeout = [0, 0.00005, 0.0005, 0.005][mt_rand(0, 3)];
    try {
        switch (mt_rand(0, 4)) {
            case 0:
            case 1:
                if ($one->send($value, $timeout)) {
                    $sent[] = $value;
                }
                break;
            case 2:
            case 3:
                $received[] = $one->receive($timeout);
                break;
            case 4:
                $case = Channel::select(['in' => $one, 'out' => [$other, $value], 'also' => $other], $timeout);
                if ($case !== null && $case[0] === 'out') {
                    $sent[] = $value;
                } elseif ($case !== null) {
                    $received[] = $case[1];
                }
        }
    } catch (TimeoutException) {
        $waits++;
    } catch (CancelledError) {
        $cancelled++;
        $doubtful[] = $value; // it may have been taken at the moment of the cancellation
    }
};
Scope::run(function (Scope $scope) use ($step): void {
    $tasks = [];
    for ($i = 0; $i < 30; $i++) {
        $tasks[] = $scope->go(function () use ($step): void {
            for ($i = 0; $i < 60; $i++) {
                $step();
            }
        });
    }
    $scope->go(function () use ($tasks): void {
        for ($i = 0; $i < 150; $i++) {
            usleep(mt_rand(1, 100));
            $tasks[mt_rand(0, 29)]->cancel();
        }
    });
});
foreach ($channels as $channel) {
    while (count($channel) > 0) {
        $received[] = $channel->receive(0);
    }
    // The queues are empty: a send finds no receiver, and a receive finds nothing.
    $channel->capacity === 0 and var_dump($channel->send('nobody', 0));
}
$lost = array_diff($sent, $received);
$invented = array_diff($received, $sent, $doubtful);
$twice = count($received) - count(array_unique($received));
echo $lost === [] && $invented === [] && $twice === 0 && count($sent) > 100
    ? "all right\n"
    : "seed $seed: " . count($sent) . ' sent, ' . count($lost) . ' lost, ' . count($invented) . " invented, $twice twice\n";
--EXPECT--
bool(false)
all right
--STDERR--

