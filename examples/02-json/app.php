<?php
// A JSON service: routes by method and path, reads a JSON body, answers with JSON and with errors a client can act on.
//
//     weft serve examples/02-json/app.php
//     curl -X POST -d '{"title":"Buy milk"}' http://127.0.0.1:8080/tasks; curl http://127.0.0.1:8080/tasks

use Weft\Http\Request;
use Weft\Http\Response;

$database = new PDO('sqlite:' . (getenv('TASKS_DATABASE') ?: sys_get_temp_dir() . '/weft-tasks.sqlite'));
$database->exec('PRAGMA busy_timeout = 5000');
$database->exec('CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL)');

function add(PDO $database, Request $request): Response
{
    try {
        $title = $request->json()['title'] ?? null;
    } catch (JsonException $error) {
        return Response::json(['error' => "the body is not JSON: {$error->getMessage()}"], 400);
    }
    if (!is_string($title) || $title === '') {
        return Response::json(['error' => 'title must be a text'], 422);
    }
    $database->prepare('INSERT INTO tasks (title) VALUES (?)')->execute([$title]);

    return Response::json(['id' => (int) $database->lastInsertId(), 'title' => $title], 201);
}

return fn (Request $request): Response => match ("{$request->method()} {$request->path()}") {
    'GET /tasks' => Response::json($database->query('SELECT id, title FROM tasks')->fetchAll(PDO::FETCH_ASSOC)),
    'POST /tasks' => add($database, $request),
    default => Response::json(['error' => 'not found'], 404),
};
