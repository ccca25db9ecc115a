<?php

declare(strict_types=1);

namespace Popup\State;

/** A user's state cannot be read or changed: without it, showing nothing is right. */
final class StatesException extends \RuntimeException {}
