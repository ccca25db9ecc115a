--TEST--
Channels, wait groups and semaphores tell their numbers
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\Semaphore;
use Weft\WaitGroup;

$channel = new Channel(3);
$channel->send('a');
$channel->send('b');
echo count($channel), ' of ', $channel->capacity, "\n";
$channel->receive();
$channel->close();
echo count($channel), " left\n";

$group = new WaitGroup(2);
$group->add();
echo count($group), "\n";
$group->done();
echo count($group), "\n";

$semaphore = new Semaphore(2);
echo $semaphore->with(fn () => $semaphore->free()), ' ', $semaphore->free(), ' of ', $semaphore->permits, "\n";
try {
    new Semaphore(0);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
2 of 3
1 left
3
2
1 2 of 2
Weft\Semaphore: there must be at least 1 permit, not 0
