<?php

declare(strict_types=1);

namespace Weft;

/** A channel is closed: it takes nothing any more, or it is empty and nothing more will come. */
final class ChannelClosed extends \RuntimeException {}
