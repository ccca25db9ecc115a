//! Weft\Queue and Weft\WriteBehind, without the service: durable, in batches, with back-pressure, retries and dead letters.

use std::path::Path;
use std::process::{Command, Stdio};

use weft_tests::command::{Output, binary, finish};
use weft_tests::until;

use crate::restartable::Restartable;

/// The beginning of every script.
const BEGIN: &str = r#"<?php
declare(strict_types=1);
use Weft\Queue\{FileQueue, GroupCommit, QueueException, QueueFull, RedisQueue};
use Weft\{Coroutine, WriteBehind};
use function Weft\go;
ini_set('error_log', '/dev/stderr');
"#;

fn command(directory: &Path, source: &str) -> Command {
    std::fs::write(directory.join("script.php"), format!("{BEGIN}{source}")).expect("the test's own file");
    let mut weft = Command::new(binary());
    weft.args(["php", "-d", "display_errors=1", "script.php"]).current_dir(directory);
    weft
}

fn run(directory: &Path, source: &str) -> Output {
    finish(&mut command(directory, source))
}

fn prints(directory: &Path, source: &str, expected: &str) {
    let output = run(directory, source);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert_eq!((output.code, output.stdout.trim()), (Some(0), expected.trim()), "{said}");
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

#[test]
fn records_come_in_order_and_in_batches() {
    let source = r#"
        $queue = new FileQueue('queue');
        $batches = [];
        $writer = new WriteBehind($queue, function (array $records) use (&$batches): void { $batches[] = $records; }, batch_max: 10, age_s_max: 0.05);
        $writer->start();
        for ($i = 0; $i < 25; $i++) { $tasks[] = go(fn () => $writer->append("record $i")); }
        foreach ($tasks as $task) { $task->await(); }
        while ($writer->metrics()['written'] < 25) { usleep(1000); }
        $all = array_merge(...$batches);
        echo json_encode([count($batches), max(array_map(count(...), $batches)), $all === array_map(fn ($i) => "record $i", range(0, 24))]);
        echo json_encode(array_intersect_key($writer->metrics(), ['depth' => 0, 'lag_s' => 0, 'written' => 0, 'dead' => 0]));
        $writer->stop();
    "#;
    prints(directory().path(), source, r#"[3,10,true]{"depth":0,"lag_s":0,"written":25,"dead":0}"#);
}

#[test]
fn commits_made_together_are_flushed_together() {
    let source = r#"
        $sizes = [];
        $group = new GroupCommit(function (array $items) use (&$sizes): array {
            $sizes[] = count($items);
            usleep(20_000);
            return array_map(fn ($item) => $item * 2, $items);
        }, items_max: 60);
        for ($i = 0; $i < 200; $i++) { $tasks[] = go(fn () => $group->commit($i)); }
        $right = true;
        foreach ($tasks as $i => $task) { $right = $task->await() === $i * 2 && $right; }
        echo json_encode([$right, array_sum($sizes), count($sizes) <= 5, max($sizes)]);
    "#;
    prints(directory().path(), source, "[true,200,true,60]");
}

#[test]
fn a_failed_flush_fails_only_its_waiters() {
    let source = r#"
        $group = new GroupCommit(function (array $items): void {
            usleep(1_000);
            if (in_array('bad', $items, true)) { throw new QueueException('no room'); }
        }, items_max: 1);
        foreach (['good', 'bad', 'good'] as $item) {
            $tasks[] = go(function () use ($group, $item) {
                try { $group->commit($item); return 'done'; } catch (QueueException $e) { return $e->getMessage(); }
            });
        }
        echo json_encode(array_map(fn ($task) => $task->await(), $tasks));
    "#;
    prints(directory().path(), source, r#"["done","no room","done"]"#);
}

#[test]
fn records_of_a_killed_process_are_found_by_the_next() {
    let directory = directory();
    let source = r#"
        $queue = new FileQueue('queue');
        for ($i = 0; $i < 100; $i++) { $tasks[] = go(fn () => $queue->append("record $i")); }
        foreach ($tasks as $task) { $task->await(); }
        file_put_contents('appended', '');
        sleep(100);
    "#;
    let mut child = command(directory.path(), source).stdin(Stdio::null()).spawn().expect("weft");
    until("the records", || directory.path().join("appended").exists().then_some(()));
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    let source = r#"
        $queue = new FileQueue('queue');
        $records = array_column($messages = $queue->take(1_000, 0.0), 'record');
        sort($records, SORT_NATURAL);
        echo json_encode([$records === array_map(fn ($i) => "record $i", range(0, 99)), $queue->depth(), $queue->lag() > 0]);
        $queue->acknowledge($messages);
        echo json_encode([$queue->depth(), $queue->lag(), glob('queue/*.log')]);
    "#;
    prints(directory.path(), source, "[true,100,true][0,0,[]]");
}

#[test]
fn a_record_that_was_not_acknowledged_is_delivered_again() {
    let source = r#"
        $queue = new FileQueue('queue');
        foreach (['a', 'b', 'c', 'd'] as $record) { $queue->append($record); }
        $take = fn (int $max): string => implode(',', array_column($queue->take($max, 0.0), 'record'));
        $first = $queue->take(3, 0.0);
        $queue->acknowledge([$first[1]]);
        echo $take(10), ' ';
        $queue->acknowledge([$first[0], $first[2]]);
        echo $take(10), ' ', $queue->depth();
    "#;
    prints(directory().path(), source, "a,c d 1");
}

#[test]
fn half_a_record_is_none_and_is_kept_aside() {
    let directory = directory();
    let source = r#"
        $queue = new FileQueue('queue');
        $queue->append('first'); $queue->append('second'); $queue->append('third');
        $path = glob('queue/*.log')[0];
        $text = file_get_contents($path);
        file_put_contents('queue/cut.log', substr($text, 0, -2));
        file_put_contents('queue/bad.log', substr_replace($text, 'X', 16 + 5 + 16, 1));
    "#;
    prints(directory.path(), source, "");
    let source = r#"
        @unlink(current(preg_grep('~/(cut|bad)~', glob('queue/*.log'), PREG_GREP_INVERT)));
        $queue = new FileQueue('queue');
        $all = [];
        while ($messages = $queue->take(100, 0.0)) { $all[] = array_column($messages, 'record'); $queue->acknowledge($messages); }
        echo json_encode([$all, glob('queue/*.log'), array_map(basename(...), glob('queue/*.rest'))]);
    "#;
    prints(
        directory.path(),
        source,
        r#"[[["first"],["first","second"]],[],["bad.log.rest","cut.log.rest"]]"#,
    );
}

#[test]
fn a_full_queue_makes_wait_and_then_refuses() {
    let source = r#"
        $queue = new FileQueue('queue', depth_max: 10, full_s_max: 0.05);
        for ($i = 0; $i < 10; $i++) { $queue->append('x'); }
        try { $queue->append('too many'); } catch (QueueFull $e) { echo $e->getMessage(), "\n"; }
        $task = go(function () use ($queue) { $queue->append('later'); return 'went in'; });
        $queue->acknowledge($queue->take(5, 0.0));
        echo $task->await(), ' ', $queue->depth(), "\n";
        try { $queue->append(str_repeat('x', 100_000)); } catch (ValueError $e) { echo $e->getMessage(); }
    "#;
    let expected = "The queue in queue holds 10 records, and may hold 10\nwent in 6\nA record has at most 65536 bytes, not 100000";
    prints(directory().path(), source, expected);
}

#[test]
fn a_failing_writer_is_tried_again_and_a_bad_record_becomes_a_dead_letter() {
    let source = r#"
        $failures = 3; $written = [];
        $write = function (array $records) use (&$failures, &$written): void {
            if ($failures-- > 0) { throw new PDOException('gone away'); }
            if (in_array('bad', $records, true)) { throw new ValueError('cannot be written'); }
            array_push($written, ...$records);
        };
        $queue = new FileQueue('queue');
        $writer = new WriteBehind($queue, $write, backoff_s: 0.001);
        foreach (['a', 'b', 'bad', 'c', 'd'] as $record) { $writer->append($record); }
        $writer->drain();
        $metrics = $writer->metrics();
        $dead = json_decode(file_get_contents('queue/dead.jsonl'), true);
        echo json_encode([$written, $metrics['retries'], $metrics['dead'], $metrics['depth'], $dead['record'], $dead['reason']]);
    "#;
    prints(directory().path(), source, r#"[["a","b","c","d"],3,1,0,"bad","cannot be written"]"#);
}

#[test]
fn files_end_when_they_are_large_and_go_when_they_are_done() {
    let source = r#"
        $queue = new FileQueue('queue', segment_bytes_max: 1_000);
        for ($i = 0; $i < 100; $i++) { $queue->append(str_repeat('x', 100)); }
        $files = count(glob('queue/*.log'));
        while ($messages = $queue->take(7, 0.0)) { $queue->acknowledge($messages); }
        clearstatcache();
        $left = glob('queue/*.log');
        echo json_encode([$files > 10, count($left) <= 1, array_sum(array_map(filesize(...), $left))]);
    "#;
    prints(directory().path(), source, "[true,true,0]");
}

#[test]
fn a_record_that_the_disk_does_not_take_is_refused_and_leaves_nothing() {
    let source = r#"
        $queue = new FileQueue('queue');
        $try = function (string $record) use ($queue): void {
            try { $queue->append($record); echo "taken\n"; } catch (QueueException $e) { echo strstr($e->getMessage(), 'Cannot write', false) !== false ? "refused\n" : $e; }
        };
        $limit = fn (string $bytes) => shell_exec('prlimit --pid ' . getmypid() . " --fsize=$bytes:unlimited");
        pcntl_signal(SIGXFSZ, SIG_IGN);
        $try('first');
        foreach (['0', '10', '40', '50'] as $bytes) { $limit($bytes); $try('second'); }
        $limit('unlimited');
        $try('third');
        go(function () use ($try, $limit) {
            $limit('70'); $try('fourth'); $limit('unlimited'); $try('fifth');
        })->await();
        $messages = $queue->take(100, 0.0);
        echo json_encode(array_column($messages, 'record'));
    "#;
    let expected = "taken\nrefused\nrefused\nrefused\ntaken\ntaken\nrefused\ntaken\n[\"first\",\"second\",\"third\",\"fifth\"]";
    prints(directory().path(), source, &expected.replace("\\n", "\n"));
}

#[test]
fn a_redis_stream_does_the_same() {
    let mut redis = Restartable::redis();
    redis.start();
    let connect = format!(
        "$connect = function (): Redis {{ $r = new Redis(); $r->connect('127.0.0.1', {}); return $r; }};",
        redis.port
    );
    let source = format!(
        r#"{connect}
        $queue = new RedisQueue($connect, 'stream', claim_s: 0.2);
        for ($i = 0; $i < 50; $i++) {{ $tasks[] = go(fn () => $queue->append("record $i")); }}
        foreach ($tasks as $task) {{ $task->await(); }}
        $taken = $queue->take(20, 0.0);
        echo json_encode([count($taken), $taken[0]->record, $queue->depth()]), "\n";
        $queue->acknowledge($taken);
        $queue->bury($queue->take(1, 0.0)[0], 'bad');
        echo json_encode([$queue->depth(), $queue->buried(), $queue->lag() > 0]), "\n";
        $lost = $queue->take(5, 0.0); // and never acknowledged
        $other = new RedisQueue($connect, 'stream', claim_s: 0.2);
        $found = [];
        while (count($found) < 29) {{
            $messages = $other->take(100, 0.01);
            array_push($found, ...array_column($messages, 'record'));
            if ($messages !== []) {{ $other->acknowledge($messages); }}
        }}
        sort($found, SORT_NATURAL);
        echo json_encode($found === array_map(fn ($i) => "record $i", range(21, 49)));
    "#
    );
    prints(directory().path(), &source, "[20,\"record 0\",50]\n[29,1,true]\ntrue");
}

#[test]
fn an_unreachable_redis_is_a_clear_exception() {
    let mut redis = Restartable::redis();
    redis.start();
    redis.kill();
    let source = format!(
        r#"
        $queue = new RedisQueue(function (): Redis {{
            $r = new Redis();
            if (!@$r->connect('127.0.0.1', {})) {{ throw new RedisException('nobody there'); }}
            return $r;
        }}, 'stream');
        try {{ $queue->append('x'); }} catch (QueueException $e) {{ echo $e->getMessage(); }}
    "#,
        redis.port
    );
    let directory = directory();
    let output = run(directory.path(), &source);
    assert!(
        output.stdout.starts_with("Redis did not take the records: "),
        "{}{}",
        output.stdout,
        output.stderr
    );
}
