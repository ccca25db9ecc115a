--TEST--
intl: numbers, dates, collation, transliteration
--FILE--
<?php
echo (new NumberFormatter('de_DE', NumberFormatter::DECIMAL))->format(1234567.891), "\n";
echo (new IntlDateFormatter('en_US', IntlDateFormatter::LONG, IntlDateFormatter::NONE, 'UTC'))->format(0), "\n";
$words = ['zebra', 'Äpfel', 'Apfel'];
(new Collator('de_DE'))->sort($words);
echo implode(' ', $words), ' ', transliterator_transliterate('Any-Latin; Latin-ASCII', 'Ελλάδα'), "\n";
echo MessageFormatter::formatMessage('en', '{n, plural, one{# file} other{# files}}', ['n' => 3]), ' ', Normalizer::normalize("e\u{301}") === "\u{e9}" ? 'same' : 'different', "\n";
--EXPECT--
1.234.567,891
January 1, 1970
Apfel Äpfel zebra Ellada
3 files same
