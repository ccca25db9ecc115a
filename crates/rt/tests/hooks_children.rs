//! Children that no coroutine waits for any more, and descriptors that a child of another family must not have.
#![allow(unsafe_code)]

mod common;

use std::cell::Cell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use common::{Stage, run};
use libc::{c_int, pid_t};
use weft_rt::{CoroutineId, Runtime};

fn pause() {
    // SAFETY: usleep takes a number.
    unsafe { libc::usleep(500) };
}

/// A child that ends with 7 when the other end of its pipe is closed.
fn child() -> (pid_t, c_int) {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors; the child only makes system calls before it ends.
    unsafe {
        assert_eq!(libc::pipe(fds.as_mut_ptr()), 0);
        let pid = libc::fork();
        if pid == 0 {
            libc::close(fds[1]);
            libc::read(fds[0], (&raw mut fds).cast(), 1);
            libc::_exit(7);
        }
        libc::close(fds[0]);
        (pid, fds[1])
    }
}

/// The result of waitpid: the pid and status, or errno.
fn wait(pid: pid_t) -> Result<(pid_t, c_int), c_int> {
    let mut status = 0;
    // SAFETY: `status` is live.
    match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
        -1 => Err(std::io::Error::last_os_error().raw_os_error().unwrap()),
        found => Ok((found, libc::WEXITSTATUS(status))),
    }
}

/// A program to which posix_spawn gives `own` under the number of one of the others' descriptors. It writes there, and ends
/// with 7 if it does not have the other one.
fn spawned(own: c_int, others: [c_int; 2]) -> pid_t {
    let command = format!(
        "echo y > /proc/self/fd/{}; test -e /proc/self/fd/{} && exit 8; exit 7",
        others[0], others[1]
    );
    let command = std::ffi::CString::new(command).unwrap();
    let arguments = [c"sh".as_ptr(), c"-c".as_ptr(), command.as_ptr(), std::ptr::null()];
    let environment: [*mut libc::c_char; 1] = [std::ptr::null_mut()];
    let mut pid = 0;
    // SAFETY: the actions are initialised before they are used; all pointers are to live values.
    unsafe {
        let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
        libc::posix_spawn_file_actions_init(&raw mut actions);
        libc::posix_spawn_file_actions_adddup2(&raw mut actions, own, others[0]);
        let error = libc::posix_spawn(
            &raw mut pid,
            c"/bin/sh".as_ptr(),
            &raw const actions,
            std::ptr::null(),
            arguments.as_ptr().cast(),
            environment.as_ptr(),
        );
        libc::posix_spawn_file_actions_destroy(&raw mut actions);
        assert_eq!(error, 0);
    }
    pid
}

fn is_there(pid: pid_t) -> bool {
    // SAFETY: it takes numbers; signal 0 is none.
    unsafe { libc::kill(pid, 0) == 0 }
}

#[test]
fn a_child_whose_wait_is_cut_short_is_taken_by_the_loop_and_its_status_is_given_once() {
    type Waiter = (CoroutineId, pid_t, c_int);
    let stage = Stage::default();
    let waiter: Rc<Cell<Option<Waiter>>> = Rc::default();
    let (waits, told) = (stage.clone(), Rc::clone(&waiter));
    let ends = stage.clone();
    run(tasks![
        move || {
            let (pid, end) = child();
            told.set(Some((Runtime::get().unwrap().current().unwrap(), pid, end)));
            waits.reach(1);
            assert_eq!(wait(pid), Err(libc::ECANCELED));
            waits.reach(2);
        },
        move || {
            stage.until(1);
            let (waiter, pid, end) = waiter.get().unwrap();
            assert!(Runtime::get().unwrap().cancel(waiter));
            ends.until(2);
            assert!(is_there(pid), "nobody ends it");
            // SAFETY: the end is this test's.
            unsafe { libc::close(end) };
            while is_there(pid) {
                pause();
            }
            assert_eq!(wait(pid), Ok((pid, 7)));
            assert_eq!(wait(pid), Err(libc::ECHILD));
        },
    ]);
}

#[test]
fn a_child_of_another_family_has_no_pipe_but_its_own_and_those_of_the_beginning() {
    let (before, _other) = std::io::pipe().unwrap();
    let before = OwnedFd::from(before);
    // SAFETY: it takes numbers.
    unsafe { libc::fcntl(before.as_raw_fd(), libc::F_SETFD, 0) };
    weft_rt::hook::keep_families_apart();
    let pipe = || {
        let mut fds = [0; 2];
        // SAFETY: room for two descriptors.
        assert_eq!(unsafe { libc::pipe(fds.as_mut_ptr()) }, 0);
        fds
    };
    let stage = Stage::default();
    let others: Rc<Cell<[c_int; 2]>> = Rc::default();
    let (opens, told) = (stage.clone(), Rc::clone(&others));
    run(tasks![
        move || {
            told.set(pipe());
            opens.reach(1);
            opens.until(2);
            for fd in told.get() {
                // SAFETY: it is this coroutine's.
                assert_eq!(unsafe { libc::close(fd) }, 0);
            }
        },
        move || {
            stage.until(1);
            let (own, others) = (pipe(), others.get());
            let listed = |fd: c_int| format!("test -e /proc/self/fd/{fd} && printf x || printf -;");
            let command = [own[0], before.as_raw_fd(), others[0]].map(listed).concat();
            let command = std::ffi::CString::new(command).unwrap();
            let mut said = [0u8; 4];
            // SAFETY: C strings; the stream is used until its pclose; the child only makes system calls before it ends.
            unsafe {
                let file = libc::popen(command.as_ptr(), c"r".as_ptr());
                assert!(!libc::fgets(said.as_mut_ptr().cast(), 4, file).is_null());
                libc::pclose(file);
                assert_eq!(&said[..3], b"xx-");
                assert_eq!(wait(spawned(own[1], others)).map(|(_, status)| status), Ok(7));
                assert_eq!(libc::read(own[0], said.as_mut_ptr().cast(), 2), 2);
                assert_eq!(&said[..2], b"y\n");
                let pid = libc::fork();
                if pid == 0 {
                    let closed_on_exec = |fd| libc::fcntl(fd, libc::F_GETFD) == libc::FD_CLOEXEC;
                    let cut = libc::write(others[1], c"x".as_ptr().cast(), 1) == -1;
                    let kept = !closed_on_exec(own[0]) && !closed_on_exec(before.as_raw_fd());
                    libc::_exit(if cut && kept && closed_on_exec(others[1]) { 7 } else { 8 });
                }
                assert_eq!(wait(pid), Ok((pid, 7)));
            }
            stage.reach(2);
        },
    ]);
}
