//! `weft php`: a script run as the php command would, on a coroutine, so that its waits may overlap with those of
//! coroutines that it starts itself.
//!
//! It accepts the options of the php command that concern one script; others are refused with the name of the
//! option.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::process::ExitCode;

use weft_rt::{Driver, Nanos, Runtime, SchedulerLimits};
use weft_zend::host::DeclaredStream;
use weft_zend::{Engine, FiberSwitch, Host, JobKind, LogLevel, Options, RequestId, Script};

use super::engine;

/// C stack of the script's coroutine: the size of a main thread's.
const STACK_BYTES: usize = 8 << 20;

#[derive(Default)]
struct Command {
    options: Options,
    script: Option<Script>,
    version: bool,
    arguments: Vec<String>,
}

/// Runs `weft php <arguments>`; the exit code is the script's.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let command = match parse(arguments) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("weft php: {message}");
            return ExitCode::FAILURE;
        }
    };
    match run(command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("weft php: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: Vec<OsString>) -> Result<Command, String> {
    let mut command = Command { options: Options { cli: true, ..Options::default() }, ..Command::default() };
    command.options.executable = engine::executable();
    command.options.library = engine::library();
    let mut rest = arguments.into_iter().map(|argument| argument.to_string_lossy().into_owned());
    while let Some(argument) = rest.next() {
        let (option, attached) = match argument.strip_prefix('-') {
            None | Some("") => {
                command.script.get_or_insert_with(|| Script::File(argument.clone()));
                command.arguments.push(argument);
                break;
            }
            Some("-") => break,
            Some(option) if option.is_char_boundary(1) && !option.starts_with('-') => option.split_at(1),
            Some(option) => short(option),
        };
        let mut value = |what: &str| match attached {
            "" => rest.next().ok_or(format!("-{option} needs {what}")),
            attached => Ok(attached.strip_prefix('=').unwrap_or(attached).to_owned()),
        };
        match option {
            "d" => command.options.ini.push(engine::ini_setting(&value("a setting: -d name=value")?)),
            "c" => command.options.ini_path = Some(value("a path")?),
            "r" => command.script = Some(Script::Code(value("code")?)),
            "f" => command.script = Some(Script::File(value("a file")?)),
            "l" => command.script = Some(Script::Lint(value("a file")?)),
            "n" => command.options.ignore_ini = true,
            "i" => command.script = Some(Script::Info),
            "m" => command.script = Some(Script::Modules),
            "v" => command.version = true,
            "q" => {}
            _ => {
                return Err(format!(
                    "unknown option {argument}; known are -c -d -f -i -l -m -n -r -v and --"
                ));
            }
        }
    }
    finish(command, rest.collect())
}

/// The one letter of an option whose long name php_cli.c has, and what follows its `=`.
fn short(long: &str) -> (&str, &str) {
    let (name, attached) = long.split_once('=').unwrap_or((long, ""));
    let letter = match name.strip_prefix('-').unwrap_or_default() {
        "define" => "d",
        "php-ini" => "c",
        "run" => "r",
        "file" => "f",
        "syntax-check" => "l",
        "no-php-ini" => "n",
        "info" => "i",
        "modules" => "m",
        "version" => "v",
        "no-header" => "q",
        _ => return (long, ""),
    };
    (letter, attached)
}

/// `$argv[0]` is the script; for code it is "Standard input code", as with the php command.
fn finish(mut command: Command, rest: Vec<String>) -> Result<Command, String> {
    if command.arguments.is_empty() {
        command.arguments.push(match &command.script {
            Some(Script::File(path)) => path.clone(),
            _ => "Standard input code".to_owned(),
        });
    }
    command.arguments.extend(rest);
    Ok(command)
}

struct UntilDone(&'static Runtime);

impl Driver for UntilDone {
    fn event(&self, _: weft_rt::reactor::Event) {}
    fn turn(&self, _: Nanos) {}
    fn deadline(&self) -> Option<Nanos> {
        None
    }
    fn stalled(&self) -> bool {
        // A signal may still wake a coroutine, if PHP code handles it.
        !weft_rt::hook::has_handlers() && Engine::deadlock()
    }
    fn finished(&self) -> bool {
        self.0.stats.live.get() == 0
    }
}

fn run(command: Command) -> Result<ExitCode, String> {
    weft_zend::host::install(&Terminal);
    let text = |error: weft_zend::EngineError| error.to_string();
    let engine = Engine::start(&command.options).map_err(text)?;
    if command.version {
        println!("{}", engine::version_line(&engine));
        return Ok(ExitCode::SUCCESS);
    }
    let script = command.script.unwrap_or(Script::File("-".to_owned()));
    if let Script::File(path) | Script::Lint(path) = &script
        && path != "-"
        && !is_readable(path)
    {
        eprintln!("Could not open input file: {path}"); // the text of the php command
        return Ok(ExitCode::FAILURE);
    }
    engine.prepare_script(&script).map_err(text)?;
    engine.begin(&command.arguments).map_err(text)?;
    weft_rt::hook::on_forked_child_end(end_forked_child);
    let switch = FiberSwitch::bare(STACK_BYTES);
    let runtime =
        Runtime::start(Box::new(switch), SchedulerLimits::default()).map_err(|error| error.to_string())?;
    runtime.spawn(JobKind::Script.job(0));
    runtime.run(&UntilDone(runtime));
    Runtime::forget();
    engine.end();
    Ok(ExitCode::from(engine.script_status()))
}

/// Whether a script can be opened. A pipe is not tried, because it can be opened only once.
fn is_readable(path: &str) -> bool {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => std::fs::File::open(path).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    }
}

/// The end of a child that the script has forked: it shuts PHP down and exits as the script would.
fn end_forked_child() -> ! {
    std::process::exit(i32::from(Engine::end_child()))
}

/// The host of a process that has a terminal and no requests: output is standard output.
pub struct Terminal;

impl Host for Terminal {
    fn output(&self, bytes: &[u8]) {
        // A closed pipe ends the output, not the script, as under the php command.
        let _ = write_all(std::io::stdout(), &[bytes]);
    }
    fn log(&self, _: LogLevel, _: RequestId, message: &[u8]) {
        let _ = write_all(std::io::stderr(), &[message, b"\n"]);
    }
    // An application that is tried out.
    fn declare_stream(&self, path: &[u8], declared: &DeclaredStream<'_>) {
        super::services::declare(path, declared);
    }
}

/// Plain system calls: a coroutine that parks must not hold the locks of std's streams.
fn write_all(stream: impl AsFd, parts: &[&[u8]]) -> rustix::io::Result<()> {
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::write(stream.as_fd(), rest))?;
            rest = &rest[written..];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Command, String> {
        parse(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn long_names_are_those_of_the_php_command() {
        let command = parsed(&["--no-php-ini", "--define", "a=b", "--define=c=d", "x.php", "--run"]).unwrap();
        assert!(command.options.ignore_ini && command.options.ini.len() == 2);
        assert_eq!(command.arguments, ["x.php", "--run"]);
        assert!(parsed(&["--version"]).unwrap().version);
        assert!(parsed(&["--interactive"]).is_err_and(|why| why.contains("unknown option --interactive")));
    }
}
