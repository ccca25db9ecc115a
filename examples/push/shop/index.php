<?php
// A page as php-fpm runs it: a script in a document root. It takes orders, and tells the kitchen.
//
//     WEFT_TOPICS_PUBLISH_TO=admin+unix:/tmp/push.sock weft serve examples/push/shop --listen 127.0.0.1:8081

declare(strict_types=1);

const MENU = ['Pancakes', 'Soup of the day', 'Apple cake'];

$error = null;
if ($_SERVER['REQUEST_METHOD'] === 'POST') {
    $dish = is_string($_POST['dish'] ?? null) ? $_POST['dish'] : '';
    $table = filter_var($_POST['table'] ?? null, FILTER_VALIDATE_INT, ['options' => ['min_range' => 1, 'max_range' => 99]]);
    if (!in_array($dish, MENU, true) || !is_int($table)) {
        http_response_code(422);
        $error = 'Choose a dish and a table from 1 to 99.';
    } else {
        // An application would store the order first. This line is all that push takes:
        Weft\Topic::publish('room:kitchen', (string) json_encode(['from' => 'Shop', 'text' => "Table $table: $dish", 'at' => time()]));
        header('Location: /?ordered=' . rawurlencode($dish), true, 303);
        exit();
    }
}
$ordered = is_string($_GET['ordered'] ?? null) ? $_GET['ordered'] : null;
?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shop</title>
<link rel="stylesheet" href="/shop.css">
<main>
  <h1>Order</h1>
<?php if ($ordered !== null): ?>
  <p role="status">Ordered: <?= htmlspecialchars($ordered) ?>. The kitchen knows.</p>
<?php endif ?>
<?php if ($error !== null): ?>
  <p role="alert"><?= htmlspecialchars($error) ?></p>
<?php endif ?>
  <form method="post" action="/">
    <label>Dish
      <select name="dish">
<?php foreach (MENU as $dish): ?>
        <option><?= htmlspecialchars($dish) ?></option>
<?php endforeach ?>
      </select>
    </label>
    <label>Table <input name="table" type="number" min="1" max="99" value="1" required></label>
    <button>Order</button>
  </form>
</main>
</html>
