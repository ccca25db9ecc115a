--TEST--
select() passes closed channels over, and says so when all are closed
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\ChannelClosed;
use function Weft\go;

$lines = new Channel(4);
$numbers = new Channel(4);
go(function () use ($lines): void {
    foreach (['x', 'y'] as $line) {
        usleep(500);
        $lines->send($line);
    }
    $lines->close();
});
go(function () use ($numbers): void {
    foreach ([1, 2, 3] as $number) {
        usleep(700);
        $numbers->send($number);
    }
    $numbers->close();
});
$got = ['lines' => [], 'numbers' => []];
try {
    while (true) {
        [$which, $value] = Channel::select(['lines' => $lines, 'numbers' => $numbers]);
        $got[$which][] = $value;
    }
} catch (ChannelClosed $closed) {
    echo json_encode($got), "\n", $closed->getMessage(), "\n";
}
try {
    Channel::select([[$lines, 'sent to nobody']]);
} catch (ChannelClosed $closed) {
    echo get_class($closed), "\n";
}
foreach ([[], ['x' => 1], ['y' => [$lines]]] as $wrong) {
    try {
        Channel::select($wrong, 0);
    } catch (TypeError | ChannelClosed $error) {
        echo $error->getMessage(), "\n";
    }
}
try {
    new Channel(-1);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
{"lines":["x","y"],"numbers":[1,2,3]}
Nothing will come: all channels of Channel::select() are closed
Weft\ChannelClosed
Nothing will come: all channels of Channel::select() are closed
Channel::select(): case "x" must be a Channel to receive from, or [Channel, value to send]
Channel::select(): case "y" must be a Channel to receive from, or [Channel, value to send]
Weft\Channel: the capacity must be at least 0, not -1
--STDERR--

