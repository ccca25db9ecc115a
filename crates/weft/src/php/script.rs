//! `weft php`: a script run as the php command would, on a coroutine, so that its waits may overlap with those of
//! coroutines it starts itself.
//!
//! It takes the options of the php command that concern one script; the rest is refused with the name of the option.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use weft_rt::{Driver, Job, Limits, Nanos, Runtime};
use weft_zend::{Engine, FiberSwitch, Host, JobKind, LogLevel, Options, RequestId, Script, Slice};

/// C stack of the script's coroutine: what a process has for its main thread.
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
    command.options.executable = super::executable();
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
            Some(option) => (option, ""),
        };
        let mut value = |what: &str| match attached {
            "" => rest.next().ok_or(format!("-{option} needs {what}")),
            attached => Ok(attached.strip_prefix('=').unwrap_or(attached).to_owned()),
        };
        match option {
            "d" => command.options.ini.push(super::ini_setting(&value("a setting: -d name=value")?)),
            "c" => command.options.ini_path = Some(value("a path")?),
            "r" => command.script = Some(Script::Code(value("code")?)),
            "f" => command.script = Some(Script::File(value("a file")?)),
            "l" => command.script = Some(Script::Lint(value("a file")?)),
            "n" => command.options.ignore_ini = true,
            "i" => command.script = Some(Script::Info),
            "m" => command.script = Some(Script::Modules),
            "v" => command.version = true,
            "q" => {}
            _ => return Err(format!("unknown option {argument}; known are -c -d -f -i -l -m -n -r -v and --")),
        }
    }
    finish(command, rest.collect())
}

/// `$argv[0]` is the script; for code it is "Standard input code", as the php command has it.
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
    fn finished(&self) -> bool {
        self.0.stats.live.get() == 0
    }
}

fn run(command: Command) -> Result<ExitCode, String> {
    weft_zend::host::install(&Terminal);
    let text = |error: weft_zend::EngineError| error.to_string();
    let engine = Engine::start(&command.options).map_err(text)?;
    if command.version {
        println!("{}", super::version_line(&engine));
        return Ok(ExitCode::SUCCESS);
    }
    engine.prepare_script(&command.script.unwrap_or(Script::File("-".to_owned()))).map_err(text)?;
    engine.begin(&command.arguments).map_err(text)?;
    let switch = FiberSwitch::bare(STACK_BYTES);
    let runtime = Runtime::start(Box::new(switch), Limits::default()).map_err(|error| error.to_string())?;
    runtime.spawn(Job { kind: JobKind::Script as u32, argument: 0 });
    runtime.run(&UntilDone(runtime));
    Runtime::forget();
    engine.end();
    Ok(ExitCode::from(engine.script_status()))
}

/// The host of a script: there are no requests; output is standard output.
struct Terminal;

impl Host for Terminal {
    fn output(&self, bytes: &[u8]) {
        // A closed pipe ends the output, not the script: as under the php command.
        let _ = write_all(bytes);
    }
    fn log(&self, _: LogLevel, _: RequestId, message: &[u8]) {
        let mut stderr = std::io::stderr().lock();
        let _ = stderr.write_all(message).and_then(|()| stderr.write_all(b"\n"));
    }
    fn field(&self, _: RequestId, _: weft_zend::Field) -> Slice {
        Slice::NONE
    }
    fn header_at(&self, _: RequestId, _: u32) -> Option<(Slice, Slice)> {
        None
    }
    fn trailer_at(&self, _: RequestId, _: u32) -> Option<(Slice, Slice)> {
        None
    }
    fn time(&self, _: RequestId) -> f64 {
        0.0
    }
    fn aborted(&self, _: RequestId) -> bool {
        true
    }
    fn body_read(&self, _: RequestId, _: u64, _: &mut [u8]) -> Option<usize> {
        None
    }
    fn body_wait(&self, _: RequestId) -> Option<u64> {
        None
    }
    fn detach(&self, _: RequestId) {}
    fn release(&self, _: RequestId) {}
    fn respond(&self, _: RequestId, _: u16, _: &[(&[u8], &[u8])], _: &[u8]) -> bool {
        false
    }
    fn respond_file(&self, _: RequestId, _: u16, _: &[(&[u8], &[u8])], _: &[u8]) -> Result<(), u16> {
        Err(404)
    }
    fn stream_start(&self, _: RequestId, _: u16, _: &[(&[u8], &[u8])]) -> bool {
        false
    }
    fn stream_write(&self, _: RequestId, _: &[u8]) -> bool {
        false
    }
    fn stream_end(&self, _: RequestId, _: &[(&[u8], &[u8])], _: bool) {}
    fn early_hints(&self, _: RequestId, _: &[(&[u8], &[u8])]) -> bool {
        false
    }
    fn replace(&self, _: &[u8]) {}
}

/// Through the hooked write, so that a slow reader of the pipe parks the script and not its other coroutines.
fn write_all(mut bytes: &[u8]) -> std::io::Result<()> {
    use std::os::fd::AsFd;
    let stdout = std::io::stdout();
    while !bytes.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::write(stdout.as_fd(), bytes)) {
            Ok(n) => bytes = &bytes[n..],
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
