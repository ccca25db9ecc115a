<?php

declare(strict_types=1);

namespace Push;

use Weft\Topic;

/** The rooms. A room is nothing but a topic: who has subscribed to it is in the room. */
enum Room: string
{
    case Lobby = 'lobby';
    case Kitchen = 'kitchen';
    case Workshop = 'workshop';

    /** What is said in the room is published here. */
    public function topic(): string
    {
        return "room:{$this->value}";
    }

    /** Who comes and goes is published here, by weft. */
    public function presence(): string
    {
        return "presence:room:{$this->value}";
    }

    /** @return object who is there: names by the ids of their connections, on all hosts */
    public function present(): object
    {
        return (object) Topic::present($this->topic()); // an object in JSON, also when nobody is there
    }
}
