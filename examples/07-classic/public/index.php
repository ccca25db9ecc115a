<?php
// An application as php-fpm runs it: no handler, nothing of weft in it. Each request has PHP to itself.
//
//     weft serve examples/07-classic/public
//     curl -c jar -b jar -d 'note=Buy milk' http://127.0.0.1:8080/notes
//     curl -c jar -b jar http://127.0.0.1:8080/notes

declare(strict_types=1);

session_start();
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);

if ($path === '/') {
    header('Location: /notes');
    exit();
}
if ($path !== '/notes') {
    http_response_code(404);
    exit("There is nothing here.\n");
}
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $_SESSION['notes'][] = $_POST['note'] ?? '';
    header('Location: /notes');
    exit();
}
/** @var list<string> $notes */
$notes = $_SESSION['notes'] ?? [];
?>
<!DOCTYPE html>
<link rel="stylesheet" href="/style.css">
<h1>Notes</h1>
<ul>
<?php foreach ($notes as $note): ?>
  <li><?= htmlspecialchars($note) ?></li>
<?php endforeach ?>
</ul>
<form method="post"><input name="note"><button>Add</button></form>
