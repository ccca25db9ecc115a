//! Requests of one session run one after another; a request never waits for itself.

use weft_tests::Server;

use crate::at_once;

#[test]
fn requests_of_one_session_take_turns_and_others_do_not_wait_for_them() {
    let running = Server::new(
        r#"return function (Weft\Http\Request $request): string {
            if ($request->path() === '/other') {
                return 'other';
            }
            session_save_path(__DIR__);
            session_id('0123456789abcdef0123456789abcdef');
            session_start(['use_cookies' => 0]);
            $count = $_SESSION['count'] ?? 0;
            usleep(20_000);
            $_SESSION['count'] = $count + 1;
            if ($request->query('close') !== null) {
                session_write_close();
                usleep(1_000);
            }
            return (string) $_SESSION['count'];
        };"#,
    )
    .start();
    let mut targets: Vec<String> =
        (0..12).map(|n| if n % 3 == 0 { "/?close" } else { "/" }.to_string()).collect();
    targets.push("/other".to_string());
    let mut answers = at_once(&running, &targets);
    assert_eq!(answers.pop().as_deref(), Some("other"));
    answers.sort_by_key(|answer| answer.parse::<u32>().expect("a number"));
    let expected: Vec<String> = (1..=12).map(|number| number.to_string()).collect();
    assert_eq!(answers, expected, "an update was lost");
}
