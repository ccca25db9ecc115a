<?php

declare(strict_types=1);

namespace Popup\Storage;

/** What becomes of a row that is inserted when its key is there already. */
enum Merge
{
    /** The row stays as it is, and does not count as inserted. */
    case Keep;

    /** The greater of both values. */
    case Greater;

    /** Both values together. */
    case Sum;
}
