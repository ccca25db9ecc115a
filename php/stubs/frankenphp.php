<?php

/**
 * Declarations of FrankenPHP's functions that this library calls in resident mode, where weft provides them.
 *
 * For static analysis only: nothing loads this file.
 */

declare(strict_types=1);

/** Sends the head of the response with this status. */
function headers_send(int $status = 200): int {}
