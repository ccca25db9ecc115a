<?php

declare(strict_types=1);

namespace Popup;

use Popup\Rules\Audience;
use Popup\Rules\Configuration;
use Popup\Storage\Configurations;

/** Something to see on the first start (POPUP_DEMO=1). */
final class Demo
{
    public static function fill(Configurations $configurations): void
    {
        $configurations->begin([
            new Configuration(0, 'Welcome', 'Have a look around. A click leads on to the next pop-up.', '/', 10),
            new Configuration(0, 'One in four', 'A quarter of all users see this one.', '/', 5, audience: new Audience(25.0)),
            new Configuration(0, 'It comes back', 'Close it, and ask again after a minute.', '/', 0, interval_s: 60),
            new Configuration(
                0,
                'For phones',
                'Nobody with a browser sees this.',
                '/',
                20,
                audience: new Audience(platforms: ['ios', 'android']),
            ),
        ]);
    }
}
