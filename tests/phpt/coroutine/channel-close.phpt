--TEST--
close() wakes who waits: receivers and senders get ChannelClosed; what is held is still received
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\ChannelClosed;
use function Weft\go;

function attempt(string $who, callable $what): void
{
    try {
        echo "$who: " . var_export($what(), true) . "\n";
    } catch (ChannelClosed $closed) {
        echo "$who: " . $closed->getMessage(), "\n";
    }
}

$empty = new Channel(1);
$full = new Channel(1);
$full->send('held');
go(attempt(...), 'receiver', fn () => $empty->receive());
go(attempt(...), 'sender', fn () => $full->send('not sent'));
usleep(1000);
$empty->close();
$full->close();
$full->close();
usleep(1000);
attempt('late sender', fn () => $empty->send(1));
attempt('late receiver', fn () => $full->receive());
attempt('later receiver', fn () => $full->receive(0));
--EXPECT--
receiver: Nothing will come: the channel is closed and empty
sender: The value was not sent: the channel was closed while it waited
late sender: Nothing can be sent: the channel is closed
late receiver: 'held'
later receiver: Nothing will come: the channel is closed and empty
--STDERR--

