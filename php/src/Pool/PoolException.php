<?php

declare(strict_types=1);

namespace Weft\Pool;

/** A pool cannot give what is asked, and waiting would not help. */
final class PoolException extends \RuntimeException {}
