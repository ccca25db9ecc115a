//! Compiled code: the JIT is on as it is by default, and what it compiles must do what PHP does.

use weft_tests::Server;

use crate::ask;

/// PHP 8.2 compiles a trace that follows the returns of `walk()` from one map to the map above. Where a list was above,
/// it went on with that list as with a map and found an end that was none.
#[test]
fn a_recursive_function_loops_over_lists_and_maps() {
    let page = r#"<?php
class Node {
    public $nodes;
    public int $seen = 0;
    function __construct(array $nodes) { $this->nodes = $nodes; }
    public function walk(Node $from): void {
        $this->seen++;
        foreach ($this->nodes as $node) { $node->walk($from); }
    }
}
function chain(int $length): Node {
    $node = new Node([]);
    for ($i = 0; $i < $length; $i++) { $node = new Node(['a' => $node]); }
    return $node;
}
// Every second place is free: whoever takes the list for a map finds only those.
function sparse(Node $first, Node $other): Node {
    $nodes = [$first, $other, 0, $other, 0, 0, 0, 0];
    unset($nodes[7], $nodes[6], $nodes[5], $nodes[4], $nodes[2]);
    return new Node($nodes);
}
$other = new Node([]);
for ($i = 0; $i < 8; $i++) { chain(12)->walk($other); }
for ($i = 0; $i < 80; $i++) {
    for ($length = 1; $length < 8; $length++) { sparse(chain($length), $other)->walk($other); }
}
echo $other->seen;
"#;
    let weft = Server::of_docroot(&[("index.php", page)])
        .with("--define", "opcache.file_update_protection=0")
        .with("--define", "opcache.jit_hot_loop=0") // otherwise other traces may come first
        .start();
    assert_eq!(ask(&weft, "GET", "/", "").text(), "1120");
}

/// A trace that ends behind a call by which a class of weft's library was loaded ends as one of its own exits says, also
/// when the file of that class has been compiled into a trace of its own.
#[test]
fn a_loop_goes_on_after_a_class_of_the_library_was_loaded() {
    let page = r#"<?php
$names = array_fill(0, 400, 'Weft\\Http\\Response');
$values = array_fill(0, 400, 1);
[$names[300], $values[300]] = ['Weft\\Queue\\FileQueue', 1.5];
$known = 0;
$sum = 0;
for ($i = 0; $i < 400; $i++) {
    $known += (int) class_exists($names[$i]);
    $sum += $values[$i];
}
echo "$known $sum";
"#;
    let weft = Server::of_docroot(&[("index.php", page)])
        .with("--define", "opcache.file_update_protection=0")
        .with("--define", "opcache.jit_hot_func=1") // a file's code is run once by a request
        .start();
    for _ in 0..20 {
        assert_eq!(ask(&weft, "GET", "/", "").text(), "400 400.5");
    }
}
