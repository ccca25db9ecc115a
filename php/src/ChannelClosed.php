<?php

declare(strict_types=1);

namespace Weft;

/** A channel is closed: it takes no more values, or it is empty and none will come. */
final class ChannelClosed extends \RuntimeException {}
