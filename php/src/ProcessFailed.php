<?php

declare(strict_types=1);

namespace Weft;

/**
 * A helper process ended without a result: it crashed, called exit(), met a fatal error, or its result or exception could not
 * be passed between processes. The message says which.
 */
final class ProcessFailed extends \RuntimeException {}
