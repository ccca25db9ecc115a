//! What is known of libc's functions that have no hook: which of them wait, and why they are not hooked.
//!
//! A test that inspects the installed PHP uses it, and so does `weft doctor --extensions`.

use super::names::{ALL, HookKind};

/// The verdict on an imported function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Review {
    /// It has a row of this kind.
    Hooked(HookKind),
    /// It waits and is not hooked, for this reason.
    NotHooked(&'static str),
    /// It does not wait.
    NeverWaits,
    /// Its name suggests that it waits, but it has not been reviewed.
    Unknown,
}

/// The verdict on a function of this name.
pub fn review(name: &str) -> Review {
    if let Some(&(_, kind)) = ALL.iter().find(|(known, _)| *known == name) {
        return Review::Hooked(kind);
    }
    let bare = name.trim_start_matches("__").trim_end_matches("_chk");
    // The names for large files: the same functions where every file may be large.
    let small = bare.strip_suffix("64").unwrap_or(bare);
    let same = |known: &str| known == name || known == bare || known == small;
    if let Some((_, why)) = NOT_HOOKED.iter().find(|(known, _)| same(known)) {
        return Review::NotHooked(why);
    }
    let in_family = FAMILIES.iter().any(|family| bare.starts_with(family));
    if in_family && !NEVER_WAIT.contains(&name) { Review::Unknown } else { Review::NeverWaits }
}

const STDIO: &str =
    "stdio reads inside libc: it waits when the stream is a pipe or a terminal, else it is disk";
const ACCOUNTS: &str =
    "asks the system's account database: files, unless nsswitch.conf names a directory service";

/// Prefixes of the names of functions that wait, from POSIX, Linux and glibc. If a new library imports a function of
/// these families, the test fails until the function is hooked or reviewed.
const FAMILIES: &[&str] = &[
    "accept",
    "aio_",
    "clock_nanosleep",
    "close",
    "cnd_",
    "connect",
    "copy_file_range",
    "dlmopen",
    "dlopen",
    "dup",
    "epoll_",
    "fclose",
    "fcntl",
    "fdatasync",
    "flock",
    "fork",
    "fsync",
    "getaddrinfo",
    "gethostby",
    "getnameinfo",
    "io_",
    "lio_",
    "lockf",
    "mq_",
    "msg",
    "msync",
    "mtx_",
    "nanosleep",
    "open",
    "pause",
    "pclose",
    "poll",
    "popen",
    "posix_spawn",
    "ppoll",
    "pread",
    "pselect",
    "pthread_barrier_",
    "pthread_clockjoin",
    "pthread_cond_",
    "pthread_join",
    "pthread_mutex_",
    "pthread_once",
    "pthread_rwlock_",
    "pthread_spin_",
    "pthread_timedjoin",
    "pwrite",
    "read",
    "recv",
    "res_",
    "select",
    "sem_",
    "semop",
    "semtimedop",
    "send",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sleep",
    "splice",
    "sync",
    "system",
    "tcdrain",
    "tcsetattr",
    "tee",
    "thrd_",
    "usleep",
    "vfork",
    "vmsplice",
    "wait",
    "write",
];

const STDIO_WRITES: &str =
    "stdio writes inside libc: it waits when the stream is a full pipe or a terminal, else it is disk";
const NAMES: &str = "disk: names and attributes of files, for which the kernel has no readiness";

/// Reviewed and not hooked: they wait for a disk, or in the ways stated here.
pub const NOT_HOOKED: &[(&str, &str)] = &[
    ("access", NAMES),
    ("chdir", NAMES),
    ("chmod", NAMES),
    ("chown", NAMES),
    ("creat", NAMES),
    ("faccessat", NAMES),
    ("fopen", NAMES),
    ("freopen", NAMES),
    ("fstatat", NAMES),
    ("ftruncate", NAMES),
    ("glob", NAMES),
    ("lchown", NAMES),
    ("link", NAMES),
    ("lstat", NAMES),
    ("mkdir", NAMES),
    ("opendir", NAMES),
    ("readdir", NAMES),
    ("readlink", NAMES),
    ("realpath", NAMES),
    ("rename", NAMES),
    ("rmdir", NAMES),
    ("scandir", NAMES),
    ("stat", NAMES),
    ("statfs", NAMES),
    ("statvfs", NAMES),
    ("symlink", NAMES),
    ("truncate", NAMES),
    ("unlink", NAMES),
    ("unlinkat", NAMES),
    ("utime", NAMES),
    ("utimes", NAMES),
    ("mmap", "disk, when a page of a file is first touched"),
    ("fflush", STDIO_WRITES),
    ("fprintf", STDIO_WRITES),
    ("fputc", STDIO_WRITES),
    ("fputs", STDIO_WRITES),
    ("fwrite", STDIO_WRITES),
    ("vfprintf", STDIO_WRITES),
    ("fgetc", STDIO),
    ("fgets", STDIO),
    ("fgetws", STDIO),
    ("fread", STDIO),
    ("fread_unlocked", STDIO),
    ("fscanf", STDIO),
    ("getc", STDIO),
    ("getdelim", STDIO),
    ("getline", STDIO),
    ("getgrgid", ACCOUNTS),
    ("getgrgid_r", ACCOUNTS),
    ("getgrnam", ACCOUNTS),
    ("getgrnam_r", ACCOUNTS),
    ("getgrouplist", ACCOUNTS),
    ("getpwnam", ACCOUNTS),
    ("getpwnam_r", ACCOUNTS),
    ("getpwuid", ACCOUNTS),
    ("getpwuid_r", ACCOUNTS),
    ("initgroups", ACCOUNTS),
    ("syscall", "makes system calls by number, which no hook sees: it matters if one of them waits"),
    ("openlog", "connects to a datagram socket, which does not wait"),
    ("openpty", "opens /dev/ptmx, which does not wait"),
    ("sync", "the whole machine's disks: only krb5's tools call it"),
    ("tcsetattr", "waits for a terminal's output with TCSADRAIN only; a worker's coroutine has no terminal"),
    (
        "pthread_once",
        "has no form that tries; initialisers of libcrypto and libxml2 do not wait for descriptors",
    ),
];

/// Members of the families that never wait.
pub const NEVER_WAIT: &[&str] = &[
    "__duplocale",
    "__res_nclose",
    "__res_ninit",
    "closedir",
    "closelog",
    "flockfile",
    "msgctl",
    "msgget",
    "posix_spawn_file_actions_addchdir_np",
    "posix_spawn_file_actions_addclose",
    "posix_spawn_file_actions_adddup2",
    "posix_spawn_file_actions_addopen",
    "posix_spawn_file_actions_destroy",
    "posix_spawn_file_actions_init",
    "posix_spawnattr_destroy",
    "posix_spawnattr_init",
    "posix_spawnattr_setflags",
    "posix_spawnattr_setpgroup",
    "posix_spawnattr_setsigdefault",
    "posix_spawnattr_setsigmask",
    "pthread_cond_broadcast",
    "pthread_cond_destroy",
    "pthread_cond_init",
    "pthread_cond_signal",
    "pthread_mutex_destroy",
    "pthread_mutex_init",
    "pthread_rwlock_destroy",
    "pthread_rwlock_init",
    "pthread_rwlock_tryrdlock",
    "pthread_rwlock_trywrlock",
    "pthread_rwlock_unlock",
    "sem_destroy",
    "sem_init",
    "sem_post",
    "thrd_exit",
];
