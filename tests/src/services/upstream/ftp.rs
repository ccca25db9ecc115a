//! The part of FTP (RFC 959, RFC 2428) that clients need to read, write and list: passive transfers only; files are
//! discarded.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// Serves one control connection.
pub fn serve(control: TcpStream) {
    // A client may disconnect in the middle of a command.
    let _ = commands(control);
}

fn commands(control: TcpStream) -> std::io::Result<()> {
    let mut say = control.try_clone()?;
    say.write_all(b"220 ready\r\n")?;
    let (mut passive, mut stored) = (None, 0);
    for line in BufReader::new(control).lines() {
        let line = line?;
        let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let reply = match command.to_ascii_uppercase().as_str() {
            "USER" => "331 password, please".to_string(),
            "PASS" => "230 welcome".to_string(),
            "SYST" => "215 UNIX Type: L8".to_string(),
            "TYPE" | "CWD" | "NOOP" => "200 done".to_string(),
            "PWD" => "257 \"/\"".to_string(),
            "SIZE" => format!("213 {}", content(argument).len()),
            "PASV" | "EPSV" => {
                let listener = TcpListener::bind(("127.0.0.1", 0))?;
                let port = listener.local_addr()?.port();
                passive = Some(listener);
                match command {
                    "PASV" => format!("227 here (127,0,0,1,{},{})", port >> 8, port & 255),
                    _ => format!("229 here (|||{port}|)"),
                }
            }
            "RETR" | "NLST" | "LIST" | "STOR" => {
                let Some(listener) = passive.take() else { return Ok(()) };
                say.write_all(b"150 coming\r\n")?;
                let (mut data, _) = listener.accept()?;
                if command == "STOR" {
                    stored = data.read_to_end(&mut Vec::new())?;
                }
                thread::sleep(pause(argument));
                if command != "STOR" {
                    data.write_all(content(argument).as_bytes())?;
                }
                drop(data);
                format!("226 {stored} bytes stored so far")
            }
            "QUIT" => "221 bye".to_string(),
            _ => "502 not here".to_string(),
        };
        say.write_all(format!("{reply}\r\n").as_bytes())?;
    }
    Ok(())
}

/// The pause in a name: `500-name` means 500 ms.
fn pause(file: &str) -> Duration {
    let number = file.trim_start_matches('/').split('-').next().and_then(|number| number.parse().ok());
    Duration::from_millis(number.unwrap_or(0))
}

/// The content of a file is its name. A list has one entry.
fn content(file: &str) -> String {
    match file.trim_start_matches('/') {
        "" | "." => "file\r\n".to_string(),
        name => name.to_string(),
    }
}
