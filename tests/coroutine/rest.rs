//! Coroutines that wait give back what their stacks do not need, and find everything as they left it.

use std::time::Duration;

use weft_tests::process::private_bytes;
use weft_tests::wait::until_within;
use weft_tests::{Client, Server, until};

const MANY: usize = 60;

/// Goes deep, in C code and in PHP code, and waits where it was before; then goes deep again. It says what it has found.
const APPLICATION: &str = r#"
    function deep(int $levels): int {
        return $levels === 0 ? 0 : 1 + array_sum(array_map(fn (int $left) => deep($left), [$levels - 1]));
    }
    $channel = new Weft\Channel(1000);
    $waiting = 0;
    return function ($r) use ($channel, &$waiting) {
        if ($r->path() === '/waiting') {
            return (string) $waiting;
        }
        if ($r->path() === '/release') {
            for ($i = 0; $i < (int) $r->query('count'); $i++) {
                $channel->send($i);
            }
            return 'released';
        }
        $local = str_repeat($r->query('n') . ' ', 50);
        $before = deep(150);
        $waiting++;
        if ($r->query('inner')) {
            $fiber = new Fiber(function () use ($channel) { $deep = deep(120); $channel->receive(); return $deep; });
            $fiber->start();
            $inner = $fiber->getReturn();
        } else {
            $channel->receive();
            $inner = 120;
        }
        return json_encode([$before, $inner, deep(160), $local]);
    };"#;

#[test]
fn what_waits_gives_back_the_memory_below_it_and_goes_on() {
    let weft = Server::new(APPLICATION).with("--workers", "1").start();
    let worker = weft.workers()[0];
    let mut clients: Vec<Client> = (0..MANY).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/?n={n}&inner={}", n % 2));
    }
    until("all to wait", || (weft.get("/waiting").text() == MANY.to_string()).then_some(()));
    let most = private_bytes(worker);
    until_within(Duration::from_secs(30), "memory to be given back", || {
        let given_back = most.saturating_sub(private_bytes(worker));
        (given_back > MANY as u64 * 40 * 1024).then_some(())
    });
    assert_eq!(weft.get(&format!("/release?count={MANY}")).text(), "released");
    for (n, client) in clients.iter_mut().enumerate() {
        let local = format!("{n} ").repeat(50);
        assert_eq!(client.read().text(), format!("[150,120,160,\"{local}\"]"));
    }
}
