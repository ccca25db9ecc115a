<?php

declare(strict_types=1);

namespace Weft\Queue;

/** Back-pressure: the queue holds as many records as it may. Nothing was written; the client should come again later. */
final class QueueFull extends QueueException {}
