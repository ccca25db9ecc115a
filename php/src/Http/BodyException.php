<?php

declare(strict_types=1);

namespace Weft\Http;

/**
 * The body of a request did not arrive. The code is the status to answer with: 400 malformed, 408 too slow, 413 too large,
 * 499 the client has gone. A handler that does not catch it answers with that status.
 */
final class BodyException extends \RuntimeException {}
