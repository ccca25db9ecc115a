<?php

/* SharedPdo answers as PDO does. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';

final class Row
{
    public int $id;
    public string $name;
}

/** @return list<mixed> */
function answers(PDO $pdo): array
{
    table($pdo, 'like_pdo', 3);
    $all = [$pdo->exec("INSERT INTO like_pdo (name) VALUES ('four')"), $pdo->lastInsertId(), $pdo->inTransaction()];
    $byId = $pdo->prepare('SELECT id, name FROM like_pdo WHERE id = ?');
    array_push($all, $byId->queryString, $byId->execute([2]), $byId->fetch(), $byId->fetch(), $byId->rowCount(), $byId->columnCount());
    $byId->bindValue(1, 3, PDO::PARAM_INT);
    array_push($all, $byId->execute(), $byId->fetchColumn(1), $byId->errorCode());
    $id = 1;
    $byId->bindParam(1, $id, PDO::PARAM_INT);
    $id = 4;
    array_push($all, $byId->execute(), $byId->fetchObject(), $byId->fetchObject());
    $named = $pdo->prepare('SELECT name FROM like_pdo WHERE id >= :id ORDER BY id');
    $named->setFetchMode(PDO::FETCH_COLUMN, 0);
    $named->bindValue('id', 2);
    array_push($all, $named->execute(), iterator_to_array($named));
    array_push($all, $named->execute([':id' => 3]), $named->fetchAll(), $named->fetchAll(PDO::FETCH_NUM));
    $named->execute(['id' => 9]);
    array_push($all, $named->fetch(), $named->fetchAll(), $named->closeCursor());
    // The parameters of execute() replace what was bound, and stay.
    array_push($all, $named->execute(['id' => 4]), $named->fetchAll(), $named->execute(), $named->fetchAll());
    $named->bindValue(':id', 3);
    array_push($all, $named->execute(), $named->fetchAll());
    $two = $pdo->prepare("SELECT CONCAT(?, '+', ?) AS sum");
    $two->bindValue(1, 'a');
    $two->bindValue(2, 'b');
    foreach ([null, ['c', 'd'], null, null, ['e', 'f']] as $params) {
        array_push($all, $two->execute($params), $two->fetchAll());
    }
    $two->bindValue(2, 'g');
    array_push($all, $two->execute(), $two->fetchAll(), $two->execute(), $two->fetchAll());
    array_push($all, thrown(fn () => $two->execute([])), thrown(fn () => $two->execute()));
    $statement = $pdo->query('SELECT id, name FROM like_pdo ORDER BY id', PDO::FETCH_CLASS, Row::class);
    array_push($all, array_map(fn (Row $row) => [$row->id, $row->name], $statement->fetchAll()));
    array_push($all, $pdo->query('SELECT name, id FROM like_pdo')->fetchAll(PDO::FETCH_KEY_PAIR));
    $statement = $pdo->query('SELECT id, name FROM like_pdo ORDER BY id');
    $meta = $statement->getColumnMeta(1);
    $statement->bindColumn('name', $name);
    $statement->fetch(PDO::FETCH_BOUND);
    array_push($all, $name, $meta['name'], $statement->fetch(PDO::FETCH_NUM), $statement->nextRowset());
    array_push($all, $pdo->beginTransaction(), $pdo->inTransaction(), $pdo->exec('DELETE FROM like_pdo'), $pdo->rollBack(), $pdo->inTransaction());
    array_push($all, thrown(fn () => $pdo->commit()), thrown(fn () => $pdo->query('SELECT nothing')), $pdo->errorInfo(), $pdo->errorCode());
    $update = $pdo->prepare('UPDATE like_pdo SET name = ? WHERE id > ?');
    array_push($all, $update->execute(['new', 2]), $update->rowCount(), $update->columnCount(), $pdo->errorInfo());
    array_push($all, thrown(fn () => $update->execute(['too few'])), $update->errorCode());
    $pdo->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, PDO::FETCH_ASSOC);
    array_push($all, $pdo->getAttribute(PDO::ATTR_DEFAULT_FETCH_MODE), $pdo->query('SELECT 1 AS one')->fetch());
    array_push($all, $pdo->quote("o'clock"), $pdo->getAttribute(PDO::ATTR_DRIVER_NAME), $pdo instanceof PDO, $pdo->query('SELECT 1') instanceof PDOStatement);
    $pdo->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_SILENT);
    array_push($all, $pdo->query('SELECT nothing'), $pdo->errorCode(), $pdo->exec('nothing'), $pdo->errorInfo());
    $wrong = $pdo->prepare('INSERT INTO like_pdo (id, name) VALUES (?, ?)');
    array_push($all, $wrong->execute([1, 'twice']), $wrong->errorCode());

    return $all;
}

foreach ([true, false] as $emulate) {
    $options = [PDO::ATTR_EMULATE_PREPARES => $emulate, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    $expected = answers(new PDO(dsn(), 'root', '', $options));
    $shared = new Weft\Database\SharedPdo(dsn(), 'root', '', $options);
    $actual = answers($shared);
    foreach ($expected as $index => $answer) {
        if (json_encode($answer) !== json_encode($actual[$index])) {
            echo "$index: ", json_encode($actual[$index]), ' instead of ', json_encode($answer), "\n";
        }
    }
    echo count($expected), ' answers; ', numbers($shared->pool, 'open', 'idle', 'created'), "\n";
}

__halt_compiler();
78 answers; open 1, idle 1, created 1
78 answers; open 1, idle 1, created 1
