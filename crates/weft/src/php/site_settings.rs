//! What PHP is told of a site's settings, and the host of a process in which sites' applications are tried out.
//!
//! Must not know requests. Invariant: a script that is tried gets the settings with which it will serve.

use weft_zend::abi::SettingKind;
use weft_zend::host::DeclaredStream;
use weft_zend::{Host, LogLevel, RequestId, Slice};

use super::script::Terminal;
use crate::config::Site;

/// One of the PHP settings and variables of a site, counted from 0.
pub fn setting_at(site: &Site, index: u32) -> Option<(SettingKind, Slice, Slice)> {
    let rows = site.ini.iter().map(|row| (SettingKind::Ini, row));
    let rows = rows.chain(site.admin_ini.iter().map(|row| (SettingKind::AdminIni, row)));
    let rows = rows.chain(site.environment.iter().map(|row| (SettingKind::Variable, row)));
    let (kind, (name, value)) = { rows }.nth(index as usize)?;
    Some((kind, Slice::of(name.as_bytes()), Slice::of(value.as_bytes())))
}

/// The host of `weft check`.
pub struct Trial {
    /// The sites whose applications are tried.
    pub sites: Vec<Site>,
}

impl Host for Trial {
    fn output(&self, bytes: &[u8]) {
        Terminal.output(bytes);
    }

    fn log(&self, level: LogLevel, request: RequestId, message: &[u8]) {
        Terminal.log(level, request, message);
    }

    fn declare_stream(&self, path: &[u8], declared: &DeclaredStream<'_>) {
        Terminal.declare_stream(path, declared);
    }

    fn setting_at(&self, site: u32, index: u32) -> Option<(SettingKind, Slice, Slice)> {
        setting_at(self.sites.get(site as usize)?, index)
    }
}
