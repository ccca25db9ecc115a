//! The JIT without registers, where code is asked to give way at the VM's checks for interrupts (`preempt_ms`).
//!
//! In PHP 8.2 such a check in compiled code is unsound for what the JIT keeps in registers: at the end of a trace's loop it
//! overwrites one of them, which is then written back (`zend_jit_trace_end_loop` in `ext/opcache/jit/zend_jit_x86.dasc` reads the
//! flag by way of rax), and the code of whole functions does not write them back before it (`zend_jit_check_timeout`). A counter
//! then has another value, and its loop may never end; `php` with `pcntl_async_signals` does that, too. Where values are in memory
//! only, it cannot happen.

/// The digits that a name of opcache.jit stands for, with the one for registers, the third last, set to 0 (`zend_jit_config` and
/// `zend_jit_parse_config_num` in `ext/opcache/jit/zend_jit.c`).
const TRACING: u32 = 1054;
const FUNCTION: u32 = 1005;

/// Changes the settings `opcache.jit` so that no value is kept in a register beyond its instruction.
pub fn keep_out_of(ini: &mut [(String, String)]) {
    for (_, value) in ini.iter_mut().filter(|(name, _)| name == "opcache.jit") {
        *value = without(value);
    }
}

fn without(jit: &str) -> String {
    match jit.to_ascii_lowercase().as_str() {
        "tracing" | "on" | "yes" | "true" | "1" => TRACING.to_string(),
        "function" => FUNCTION.to_string(),
        other => other
            .parse()
            .map_or_else(|_| jit.to_owned(), |digits: u32| (digits - digits / 100 % 10 * 100).to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digit_for_registers_is_0_and_what_is_off_stays_off() {
        let cases = [
            ("tracing", "1054"),
            ("on", "1054"),
            ("1", "1054"),
            ("function", "1005"),
            ("1254", "1054"),
            ("205", "5"),
            ("1005", "1005"),
            ("0", "0"),
            ("off", "off"),
            ("disable", "disable"),
        ];
        for (jit, expected) in cases {
            assert_eq!(without(jit), expected, "{jit}");
        }
        let mut ini = [("opcache.jit", "on"), ("opcache.enable", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        keep_out_of(&mut ini);
        assert_eq!(ini.map(|(_, value)| value), ["1054", "1"]);
    }
}
