<?php

declare(strict_types=1);

namespace Weft\Pool;

use Weft\TimeoutException;

/** Nothing became free in time. */
final class PoolTimeout extends TimeoutException {}
