--TEST--
Enums, match, readonly, named arguments, nullsafe, first-class callables
--FILE--
<?php
enum Suit: string {
    case Hearts = 'H'; case Spades = 'S';
    public function colour(): string { return match ($this) { self::Hearts => 'red', self::Spades => 'black' }; }
}
final readonly class Point { public function __construct(public int $x = 0, public int $y = 0) {} }
echo Suit::from('S')->colour(), Suit::tryFrom('X')?->colour() ?? ' none', "\n";
$p = new Point(y: 5);
try { $p->x = 1; } catch (Error $e) { echo $e->getMessage(), "\n"; }
try { echo match (true) { default => throw new LogicException('thrown') }; } catch (LogicException $e) { echo $e->getMessage(), "\n"; }
try { echo match (5) { 1 => 2 }; } catch (\UnhandledMatchError $e) { echo $e->getMessage(), "\n"; }
echo implode(',', array_map(strtoupper(...), ['a', 'b'])), $p->y, "\n";
--EXPECTF--
black none
Cannot modify readonly property Point::$x
thrown
Unhandled match case %s
A,B5
