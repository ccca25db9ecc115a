//! The actions of one request are invisible to another, whatever waits in between.

use weft_zend::InstanceOptions;

use crate::common::{OPTIONS, Response, Worker, alone, switch_after_instructions, switch_everywhere};

const INSTANCES: u32 = 25;

fn check(number: usize, response: &Response) {
    let body = &response.body;
    let expected = match number % 5 {
        0 => format!("[{number}]OK {number}SD{number};"),
        1 => format!("[{number}]OK {number}xSD{number};"),
        2 => format!("[{number}]OK {number}EXH:unc{number}SD{number};"),
        3 => format!("[{number}]OK {number}EXH:Call to undefined function undefined_fn()SD{number};"),
        // PHP drops its buffered output when it is out of memory.
        _ => {
            assert!(body.contains("Allowed memory size of 16777216 bytes exhausted"), "{number}: {body}");
            assert!(body.ends_with(&format!("SD{number};")), "{number}: {body}");
            return;
        }
    };
    assert_eq!(body, &expected);
    assert_eq!(response.header("x-n"), Some(number.to_string().as_str()));
    assert_eq!(usize::from(response.status), 200 + number % 3, "{number}");
}

/// All kinds of process state at once, in `INSTANCES` interleaved requests.
fn interleave(requests: usize, ini: &[(&str, &str)]) {
    interleave_on(InstanceOptions { instances_max: INSTANCES, ..OPTIONS }, requests, ini);
}

fn interleave_on(options: InstanceOptions, requests: usize, ini: &[(&str, &str)]) {
    let sessions = std::env::temp_dir().join(format!("weft-instances-{}", std::process::id()));
    std::fs::create_dir_all(&sessions).expect("a directory for sessions");
    let mut settings = vec![
        ("session.save_path", sessions.to_str().expect("a path in UTF-8")),
        ("display_errors", "1"),
        ("html_errors", "0"),
        ("log_errors", "0"),
        ("output_buffering", "4096"),
        ("max_execution_time", "30"),
    ];
    settings.extend_from_slice(ini);
    let worker = Worker::start_with(options, &settings);
    let asked: Vec<_> = (0..requests).map(|n| worker.ask("everything.php", &format!("n={n}"))).collect();
    worker.serve();
    for (number, id) in asked.into_iter().enumerate() {
        check(number, &worker.response(id));
    }
    std::fs::remove_dir_all(&sessions).expect("the sessions can be removed");
    assert_eq!(worker.web.replacements.borrow().as_slice(), &[] as &[String]);
    let figures = weft_zend::InstanceSwitch::figures();
    assert!(figures.switches > requests as u64 * 10, "they were not interleaved: {figures:?}");
    let log = worker.web.log.borrow();
    let found: Vec<_> = log.iter().filter(|line| line.starts_with("instances:")).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn nothing_is_shared_without_opcache() {
    alone("isolation::nothing_is_shared_without_opcache", || interleave(75, &[("opcache.enable", "0")]));
}

#[test]
fn nothing_is_shared_with_opcache() {
    alone("isolation::nothing_is_shared_with_opcache", || {
        interleave(
            75,
            &[("opcache.enable", "1"), ("opcache.validate_timestamps", "0"), ("opcache.jit", "off")],
        );
    });
}

#[test]
fn nothing_is_shared_with_the_tracing_jit() {
    alone("isolation::nothing_is_shared_with_the_tracing_jit", || {
        interleave(75, &[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
    });
}

#[test]
fn nothing_is_shared_with_the_function_jit() {
    alone("isolation::nothing_is_shared_with_the_function_jit", || {
        interleave(75, &[("opcache.jit", "function"), ("opcache.jit_buffer_size", "64M")]);
    });
}

#[test]
fn whole_pages_are_as_they_were_left() {
    alone("isolation::whole_pages_are_as_they_were_left", || {
        let options = InstanceOptions { verify: true, instances_max: INSTANCES, ..OPTIONS };
        interleave_on(options, 50, &[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
    });
}

/// The others run wherever they can.
fn interleave_at_every_call(ini: &[(&str, &str)]) {
    switch_everywhere();
    interleave(50, ini);
}

#[test]
fn nothing_is_shared_when_others_run_at_every_call() {
    alone("isolation::nothing_is_shared_when_others_run_at_every_call", || {
        interleave_at_every_call(&[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
    });
}

#[test]
fn nor_with_the_function_jit() {
    alone("isolation::nor_with_the_function_jit", || {
        interleave_at_every_call(&[("opcache.jit", "function"), ("opcache.jit_buffer_size", "64M")]);
    });
}

#[test]
fn nor_with_opcache_and_files_that_are_looked_at() {
    alone("isolation::nor_with_opcache_and_files_that_are_looked_at", || {
        interleave_at_every_call(&[
            ("opcache.jit", "off"),
            ("opcache.validate_timestamps", "1"),
            ("opcache.revalidate_freq", "0"),
        ]);
    });
}

#[test]
fn nor_without_opcache() {
    alone("isolation::nor_without_opcache", || interleave_at_every_call(&[("opcache.enable", "0")]));
}

#[test]
fn nor_while_whole_pages_are_compared() {
    alone("isolation::nor_while_whole_pages_are_compared", || {
        weft_rt::hook::yield_at_calls(true);
        let options = InstanceOptions { verify: true, instances_max: INSTANCES, ..OPTIONS };
        interleave_on(options, 25, &[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
    });
}

/// Others run after each few machine instructions of PHP code, wherever they are.
#[cfg(target_arch = "x86_64")]
mod at_instructions {
    use super::{Worker, alone, interleave, switch_after_instructions};

    fn interleave_at_instructions(ini: &[(&str, &str)]) {
        switch_after_instructions(64);
        interleave(5, ini);
    }

    #[test]
    fn nothing_is_shared_with_the_tracing_jit() {
        alone("isolation::at_instructions::nothing_is_shared_with_the_tracing_jit", || {
            interleave_at_instructions(&[("opcache.jit", "tracing"), ("opcache.jit_buffer_size", "64M")]);
        });
    }

    #[test]
    fn nothing_is_shared_with_the_function_jit() {
        alone("isolation::at_instructions::nothing_is_shared_with_the_function_jit", || {
            interleave_at_instructions(&[("opcache.jit", "function"), ("opcache.jit_buffer_size", "64M")]);
        });
    }

    /// Others run after every single instruction: all that there are.
    fn one_by_one(jit: &str) {
        switch_after_instructions(1);
        let worker = Worker::start(3, &[("opcache.jit", jit), ("opcache.jit_buffer_size", "64M")]);
        let asked: Vec<_> = (0..3).map(|n| worker.ask("steps.php", &format!("n={n}"))).collect();
        worker.serve();
        for (n, id) in asked.into_iter().enumerate() {
            assert_eq!(worker.response(id).body, format!("{n}: right end {n}"), "{jit}");
        }
        let figures = weft_zend::InstanceSwitch::figures();
        assert!(figures.switches > 3_000, "they were not interleaved: {figures:?}");
    }

    #[test]
    fn a_script_is_right_between_any_two() {
        alone("isolation::at_instructions::a_script_is_right_between_any_two", || one_by_one("off"));
    }

    #[test]
    fn so_it_is_with_the_tracing_jit() {
        alone("isolation::at_instructions::so_it_is_with_the_tracing_jit", || one_by_one("tracing"));
    }

    #[test]
    fn so_it_is_with_the_function_jit() {
        alone("isolation::at_instructions::so_it_is_with_the_function_jit", || one_by_one("function"));
    }
}
