<?php

declare(strict_types=1);

return [
    'required' => 'The :attribute is missing.',
    'min' => ['string' => 'The :attribute has fewer than :min characters.'],
    'max' => ['string' => 'The :attribute has more than :max characters.', 'file' => 'The :attribute is larger than :max KiB.'],
    'image' => 'The :attribute is no picture.',
];
