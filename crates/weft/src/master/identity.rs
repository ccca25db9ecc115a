//! The user and groups that the workers run as.
//!
//! Must not know when privileges are dropped. Invariant: after [`Identity::assume`] the process cannot regain its
//! privileges.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStringExt;

use crate::config::Config;
use crate::guarded_path;

/// A user of this machine with its groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    name: CString,
    home: CString,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl Identity {
    /// Looks `user` up, and `group` if it is not the user's own.
    ///
    /// # Errors
    /// One line: what does not exist, or that the master lacks the privileges to change user.
    pub fn look_up(user: &str, group: Option<&str>) -> Result<Self, String> {
        let name = CString::new(user).map_err(|_| "user: contains a NUL byte".to_string())?;
        // SAFETY: the name is NUL-terminated; the process has one thread, so the static result is not overwritten.
        let found = unsafe { libc::getpwnam(name.as_ptr()).as_ref() };
        let Some(found) = found else {
            return Err(format!(
                "user {user} does not exist: create it (adduser --system {user}) or name another"
            ));
        };
        let (uid, own_group) = (found.pw_uid, found.pw_gid);
        let home = text_of(found.pw_dir);
        let gid = group.map_or(Ok(own_group), group_id)?;
        let me = rustix::process::geteuid();
        if !me.is_root() && me.as_raw() != uid {
            return Err(format!(
                "user {user}: only root may run workers as another user; start as root or leave it out"
            ));
        }
        Ok(Identity { name, home, uid, gid })
    }

    /// What `USER` and `HOME` are for this user, as php-fpm sets them.
    pub fn variables(&self) -> [(&'static str, OsString); 2] {
        let own = |text: &CString| OsString::from_vec(text.as_bytes().to_vec());
        [("USER", own(&self.name)), ("HOME", own(&self.home))]
    }

    /// Becomes this user permanently: supplementary groups, group, user.
    ///
    /// # Errors
    /// The kernel's error; the process must then not continue.
    pub fn assume(&self) -> io::Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        // SAFETY: the name is NUL-terminated and the ids are plain numbers. libc's calls are used because they change
        // all threads of the process.
        let refused = unsafe {
            libc::initgroups(self.name.as_ptr(), self.gid) != 0
                || libc::setgid(self.gid) != 0
                || libc::setuid(self.uid) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// What `USER` and `HOME` are for the user of this process; `None` if the system does not know him.
pub fn own_variables() -> Option<[(&'static str, OsString); 2]> {
    // SAFETY: the process has one thread, so the static result is not overwritten while it is read.
    let found = unsafe { libc::getpwuid(libc::geteuid()).as_ref() }?;
    let own = |text| OsString::from_vec(text_of(text).into_bytes());
    Some([("USER", own(found.pw_name)), ("HOME", own(found.pw_dir))])
}

/// A copy of a string of libc; empty for none.
fn text_of(text: *const c_char) -> CString {
    // SAFETY: NULL, or a string that ends, and lives until the next request of this one thread.
    if text.is_null() { CString::default() } else { unsafe { CStr::from_ptr(text) }.to_owned() }
}

/// The user that the workers of this configuration run as, if it names one.
///
/// # Errors
/// As of [`Identity::look_up`]; a configuration that this user can change, if a master that is root would trust it.
pub fn of_workers(config: &Config) -> Result<Option<Identity>, String> {
    let server = &config.server;
    let Some(user) = &server.user else { return Ok(None) };
    let identity = Identity::look_up(user, server.group.as_deref())?;
    let is_root = rustix::process::geteuid().is_root() && identity.uid != 0;
    match &config.file {
        Some(file) if is_root && guarded_path::may_change(identity.uid, file) => Err(format!(
            "{}: user {user}, which the workers run as, may write to it or to a directory on the way, and would become root at the next reload: give the file and its directories to root (chown root, chmod go-w), or keep it elsewhere (--config)",
            file.display()
        )),
        _ => Ok(Some(identity)),
    }
}

fn group_id(group: &str) -> Result<u32, String> {
    let name = CString::new(group).map_err(|_| "group: contains a NUL byte".to_string())?;
    // SAFETY: as for getpwnam above.
    let found = unsafe { libc::getgrnam(name.as_ptr()).as_ref() };
    found.map(|g| g.gr_gid).ok_or_else(|| format!("group {group} does not exist: create it or name another"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_exists_everywhere_and_strangers_are_named() {
        let root = Identity::look_up("root", None);
        if rustix::process::geteuid().is_root() {
            assert_eq!(root.map(|i| (i.uid, i.gid)), Ok((0, 0)));
        } else {
            let refusal = root.unwrap_err();
            assert_eq!(
                refusal,
                "user root: only root may run workers as another user; start as root or leave it out"
            );
        }
        assert_eq!(
            Identity::look_up("no-such-user", None).unwrap_err(),
            "user no-such-user does not exist: create it (adduser --system no-such-user) or name another"
        );
        assert_eq!(
            Identity::look_up("root", Some("no-such-group")).unwrap_err(),
            "group no-such-group does not exist: create it or name another"
        );
    }
}
