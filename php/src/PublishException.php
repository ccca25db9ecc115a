<?php

declare(strict_types=1);

namespace Weft;

/** A message could not be published: workers do not keep up, no server was found, or it refused. */
final class PublishException extends \RuntimeException {}
