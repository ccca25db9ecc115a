<?php

declare(strict_types=1);

namespace Weft\Queue;

/** A queue's backend failed: a disk that is full, a server that is away. */
class QueueException extends \RuntimeException {}
