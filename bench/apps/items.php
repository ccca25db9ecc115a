<?php

declare(strict_types=1);

/**
 * The data of the JSON scenario, about 10 KB as JSON. They depend on the request, so that nothing can be kept.
 *
 * @return list<array{id: int, name: string, price: int, stock: bool, tags: list<string>}>
 */
function items(int $first): array
{
    $items = [];
    for ($id = $first; $id < $first + 108; ++$id) {
        $items[] = ['id' => $id, 'name' => "Item {$id}", 'price' => $id * 7, 'stock' => $id % 3 === 0, 'tags' => ['red', 'large', 'new']];
    }

    return $items;
}
