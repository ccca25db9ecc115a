<?php

declare(strict_types=1);

namespace Popup\Storage;

/** An operation of the batch is in the database already: the transaction is taken back, and tried without it. */
final class Repeated extends \RuntimeException {}
