<?php

declare(strict_types=1);

namespace Popup\Cache;

/** The database does not answer, and no configurations were ever known on this machine. */
final class NothingKnown extends \RuntimeException {}
