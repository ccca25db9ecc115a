//! Hooked calls around processes and locks: waiting for children, popen, system, file locks, mutexes, signals, queues.
#![allow(unsafe_code)]

mod common;

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{log, run};
use libc::c_int;
use weft_rt::Runtime;

/// Sleeps with libc's own call: it fails with ECANCELED in a cancelled coroutine, which std's sleep does not
/// expect.
fn pause(millis: u32) {
    // SAFETY: usleep takes a number.
    unsafe { libc::usleep(millis * 1_000) };
}

/// Starts a child that exits with `code` after it has read the end of a pipe; returns it with the pipe's
/// writing end.
fn child(code: c_int) -> (c_int, c_int) {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors; the child only makes system calls before it ends.
    unsafe {
        assert_eq!(libc::pipe(fds.as_mut_ptr()), 0);
        match libc::fork() {
            0 => {
                libc::close(fds[1]);
                let mut byte = 0u8;
                // In the child the hooks are plain calls: this blocks the child, which has no loop.
                libc::read(fds[0], (&raw mut byte).cast(), 1);
                libc::_exit(if Runtime::get().is_some() { 99 } else { code });
            }
            pid => {
                libc::close(fds[0]);
                (pid, fds[1])
            }
        }
    }
}

#[test]
fn a_child_that_comes_back_to_the_loop_ends_there() {
    run(tasks![
        || {
            // SAFETY: the child only returns from this coroutine; `status` is live.
            unsafe {
                let mut status = -1;
                match libc::fork() {
                    0 => assert!(Runtime::get().is_none()),
                    pid => assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid),
                }
                assert!(Runtime::get().is_none() || status == 0);
            }
        },
        || pause(1),
    ]);
    assert!(Runtime::get().is_some(), "only the parent comes here");
}

#[test]
fn waiting_for_one_child_or_for_any_lets_other_coroutines_run() {
    let (entries, write) = log();
    let other = write.clone();
    let release = Rc::new(RefCell::new(Vec::new()));
    let ends = Rc::clone(&release);
    let runtime = run(tasks![
        move || {
            let mut status = 0;
            let (pid, end) = child(7);
            ends.borrow_mut().push(end);
            // SAFETY: `status` is live.
            assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
            assert_eq!(libc::WEXITSTATUS(status), 7);
            write("waited for one");
            let (pid, end) = child(8);
            // SAFETY: `status` and `info` are live; the end is this test's.
            unsafe {
                libc::close(end);
                let mut info: libc::siginfo_t = std::mem::zeroed();
                assert_eq!(
                    libc::waitid(libc::P_PID, pid as u32, &raw mut info, libc::WEXITED | libc::WNOWAIT),
                    0
                );
                assert_eq!((info.si_pid(), info.si_status()), (pid, 8));
                assert_eq!(libc::wait4(-1, &raw mut status, libc::__WALL, std::ptr::null_mut()), pid);
                assert_eq!(libc::waitpid(pid, &raw mut status, 0), -1);
            }
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ECHILD));
        },
        move || {
            other("released");
            for end in release.borrow().iter() {
                // SAFETY: the end is this test's.
                unsafe { libc::close(*end) };
            }
        },
    ]);
    assert_eq!(*entries.borrow(), ["released", "waited for one"]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn commands_run_while_other_coroutines_do_and_their_status_comes_back() {
    let (entries, write) = log();
    let other = write.clone();
    run(tasks![
        move || {
            // SAFETY: C strings; the streams are used until their pclose.
            unsafe {
                let file = libc::popen(
                    c"read -r line; test \"$line\" = it || exit 9; exit 3".as_ptr(),
                    c"w".as_ptr(),
                );
                assert!(!file.is_null());
                assert!(libc::fputs(c"it\n".as_ptr(), file) >= 0);
                assert_eq!(libc::WEXITSTATUS(libc::pclose(file)), 3);
                let file = libc::popen(c"sleep 0.05; echo out".as_ptr(), c"r".as_ptr());
                let mut line = [0u8; 16];
                assert_eq!(libc::read(libc::fileno(file), line.as_mut_ptr().cast(), 16), 4);
                assert_eq!(CStr::from_bytes_until_nul(&line).unwrap(), c"out\n");
                assert_eq!(libc::pclose(file), 0);
                write("popen");
                assert_eq!(libc::WEXITSTATUS(libc::system(c"exit 4".as_ptr())), 4);
                assert!(libc::popen(c"true".as_ptr(), c"x".as_ptr()).is_null());
            }
        },
        move || other("meanwhile"),
    ]);
    assert_eq!(*entries.borrow(), ["meanwhile", "popen"]);
    // SAFETY: outside a coroutine the same pair works; C strings.
    unsafe {
        let file = libc::popen(c"exit 5".as_ptr(), c"r".as_ptr());
        assert_eq!(libc::WEXITSTATUS(libc::pclose(file)), 5);
        assert_eq!(libc::WEXITSTATUS(libc::system(c"exit 6".as_ptr())), 6);
    }
}

#[test]
fn a_file_lock_held_by_a_parked_coroutine_is_waited_for() {
    let path = std::env::temp_dir().join(format!("weft-flock-{}", std::process::id()));
    std::fs::write(&path, b"").unwrap();
    let (entries, write) = log();
    let worker = |name: &'static str| {
        let (path, write) = (path.clone(), write.clone());
        move || {
            use std::os::fd::AsRawFd;
            let file = std::fs::File::open(&path).unwrap();
            // SAFETY: flock takes numbers.
            assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
            write(name);
            pause(5);
            write(name);
        }
    };
    let runtime = run(tasks![worker("one"), worker("two")]);
    assert_eq!(*entries.borrow(), ["one", "one", "two", "two"]);
    assert_eq!(runtime.stats.blocked.get(), 0);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn an_open_file_description_lock_is_waited_for_too() {
    let path = std::env::temp_dir().join(format!("weft-ofd-{}", std::process::id()));
    std::fs::write(&path, b"x").unwrap();
    let (entries, write) = log();
    let worker = |name: &'static str| {
        let (path, write) = (path.clone(), write.clone());
        move || {
            use std::os::fd::AsRawFd;
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            // SAFETY: the all-zero flock is the whole file; the pointer is to a live value.
            unsafe {
                let mut lock: libc::flock = std::mem::zeroed();
                lock.l_type = libc::F_WRLCK as _;
                assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock), 0);
            }
            write(name);
            pause(5);
            write(name);
        }
    };
    run(tasks![worker("one"), worker("two")]);
    assert_eq!(*entries.borrow(), ["one", "one", "two", "two"]);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_mutex_and_a_rwlock_held_by_a_parked_coroutine_do_not_deadlock_the_thread_even_when_cancelled() {
    let mutex = Rc::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    let lock = Rc::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER));
    let holders = Rc::new(Cell::new(0));
    let worker = || {
        let (mutex, lock, holders) = (Rc::clone(&mutex), Rc::clone(&lock), Rc::clone(&holders));
        move || {
            for _ in 0..3 {
                // SAFETY: both locks outlive the coroutines and are unlocked by the coroutine that locked them.
                unsafe {
                    assert_eq!(libc::pthread_mutex_lock(mutex.get()), 0);
                    assert_eq!(libc::pthread_rwlock_wrlock(lock.get()), 0);
                    assert_eq!(holders.replace(1), 0);
                    pause(2);
                    assert_eq!(holders.replace(0), 1);
                    libc::pthread_rwlock_unlock(lock.get());
                    libc::pthread_mutex_unlock(mutex.get());
                }
            }
        }
    };
    let runtime = run(tasks![worker(), worker(), || {
        let runtime = Runtime::get().unwrap();
        let me = runtime.current();
        let others: Vec<_> =
            runtime.live().into_iter().map(|(id, ..)| id).filter(|id| Some(*id) != me).collect();
        runtime.cancel(others[1]);
    }]);
    assert_eq!(runtime.stats.blocked.get(), 0);
}

#[test]
fn a_thread_is_joined_and_a_signal_waited_for_while_others_run() {
    let ran = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&ran);
    let (entries, write) = log();
    let other = write.clone();
    run(tasks![
        move || {
            // The hook is a plain sleep in this thread: it has no runtime.
            let thread = std::thread::spawn(move || {
                while !seen.load(Ordering::Acquire) {
                    pause(1);
                }
            });
            thread.join().unwrap();
            write("joined");
            // SAFETY: the set is filled in before use; the span is live.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigaddset(&raw mut set, libc::SIGUSR1);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                let span = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
                assert_eq!(libc::sigtimedwait(&raw const set, std::ptr::null_mut(), &raw const span), -1);
                assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN));
                libc::pthread_kill(libc::pthread_self(), libc::SIGUSR1);
                assert_eq!(libc::sigwaitinfo(&raw const set, std::ptr::null_mut()), libc::SIGUSR1);
            }
        },
        move || {
            other("meanwhile");
            ran.store(true, Ordering::Release);
        },
    ]);
    assert_eq!(*entries.borrow(), ["meanwhile", "joined"]);
}

#[test]
fn a_semaphore_and_a_message_queue_are_waited_for() {
    // SAFETY: they take numbers.
    let (set, queue) =
        unsafe { (libc::semget(libc::IPC_PRIVATE, 1, 0o600), libc::msgget(libc::IPC_PRIVATE, 0o600)) };
    assert!(set >= 0 && queue >= 0);
    let operation = |by| libc::sembuf { sem_num: 0, sem_op: by, sem_flg: 0 };
    let (entries, write) = log();
    let other = write.clone();
    let runtime = run(tasks![
        move || {
            let (mut down, mut message) = (operation(-1), [0u8; 16]);
            // SAFETY: the operation and the message are live.
            unsafe {
                assert_eq!(libc::semop(set, &raw mut down, 1), 0);
                write("semaphore");
                assert_eq!(libc::msgrcv(queue, message.as_mut_ptr().cast(), 8, 0, 0), 5);
            }
            assert_eq!(&message[8..13], b"hello");
        },
        move || {
            other("first");
            let mut up = operation(1);
            // SAFETY: the operation is live.
            assert_eq!(unsafe { libc::semop(set, &raw mut up, 1) }, 0);
            pause(3);
            let message = *b"\x01\0\0\0\0\0\0\0hello";
            // SAFETY: the message is live and of that length.
            assert_eq!(unsafe { libc::msgsnd(queue, message.as_ptr().cast(), 5, 0) }, 0);
        },
    ]);
    assert_eq!(*entries.borrow(), ["first", "semaphore"]);
    assert_eq!(runtime.stats.blocked.get(), 0);
    // SAFETY: both are this test's.
    unsafe {
        libc::semctl(set, 0, libc::IPC_RMID);
        libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
    }
}

/// A separate open file description.
fn open(path: &std::path::Path) -> c_int {
    use std::os::fd::IntoRawFd;
    std::fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap()
        .into_raw_fd()
}

#[test]
fn waiters_of_one_file_lock_get_it_in_the_order_they_came_by_unlock_or_close() {
    let path = std::env::temp_dir().join(format!("weft-queue-{}", std::process::id()));
    let order = Rc::new(RefCell::new(Vec::new()));
    let queued = Rc::new(Cell::new(0));
    let mut tasks: Vec<Box<dyn FnOnce()>> = Vec::new();
    for number in 0..20 {
        let (path, order, queued) = (path.clone(), Rc::clone(&order), Rc::clone(&queued));
        tasks.push(Box::new(move || {
            let fd = open(&path);
            queued.set(queued.get() + 1);
            // SAFETY: flock and close take numbers.
            unsafe {
                assert_eq!(libc::flock(fd, libc::LOCK_EX), 0);
                order.borrow_mut().push(number);
                // The first one holds it until all others wait.
                while queued.get() < 20 {
                    pause(1);
                }
                pause(1);
                if number % 2 == 0 {
                    assert_eq!(libc::flock(fd, libc::LOCK_UN), 0);
                }
                assert_eq!(libc::close(fd), 0);
            }
        }));
    }
    run(tasks);
    assert_eq!(*order.borrow(), (0..20).collect::<Vec<_>>());
    std::fs::remove_file(path).unwrap();
}
