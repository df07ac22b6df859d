//! Tries what a pass is denied, the way any Rust program would: through `std`. Built for
//! `wasm32-wasip2` by the engine's tests, which ask for one thing a call.
//!
//! Every answer is a text; what fails answers with the error.
#![cfg(target_arch = "wasm32")]

use std::collections::HashMap;
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant, SystemTime};

#[allow(missing_docs, unused_qualifications, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({
        inline: "package test:probe@1.0.0;
                 interface probe { attempt: func(what: string) -> result<string, string>; }
                 world w { export probe; }",
        pub_export_macro: true,
    });
}

struct Probe;

impl bindings::exports::test::probe::probe::Guest for Probe {
    fn attempt(what: String) -> Result<String, String> {
        attempt(&what).map_err(|error| error.to_string())
    }
}

bindings::export!(Probe with_types_in bindings);

fn attempt(what: &str) -> Result<String, Box<dyn Error>> {
    Ok(match what {
        "read a file" => std::fs::read_to_string("/etc/passwd")?,
        "write a file" => format!("{:?}", std::fs::write("there.txt", "here")?),
        "list a folder" => format!("{}", std::fs::read_dir(".")?.count()),
        "current folder" => format!("{}", std::env::current_dir()?.display()),
        "environment" => format!("{:?}", std::env::vars().collect::<Vec<_>>()),
        "arguments" => format!("{:?}", std::env::args().collect::<Vec<_>>()),
        "connect" => format!("{:?}", TcpStream::connect("127.0.0.1:80")?),
        "listen" => format!("{:?}", TcpListener::bind("127.0.0.1:0")?),
        "send a datagram" => format!("{:?}", UdpSocket::bind("127.0.0.1:0")?),
        "look up a name" => format!("{:?}", ("example.com", 80).to_socket_addrs()?.collect::<Vec<_>>()),
        "run a program" => format!("{:?}", std::process::Command::new("ls").spawn()?),
        "start a thread" => format!("{:?}", std::thread::Builder::new().spawn(|| ())?),
        "standard input" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        "time" => format!("{}", SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs()),
        "sleep" => {
            let started = Instant::now();
            std::thread::sleep(Duration::from_secs(3600));
            format!("{:?}", started.elapsed())
        }
        // The order of a map hangs on the seed that `std` asks the system for.
        "random order" => {
            let map: HashMap<u32, u32> = (0..100).map(|number| (number, number)).collect();
            format!("{:?}", map.keys().collect::<Vec<_>>())
        }
        "print" => {
            println!("to stdout\n\nafter an empty line");
            eprintln!("to stderr");
            print!("without an end");
            std::io::stdout().flush()?;
            "printed".to_owned()
        }
        "print and panic" => {
            print!("before\nwithout an end");
            std::io::stdout().flush()?;
            panic!("the sky fell\non line two")
        }
        "flood" => loop {
            println!("{}", "water ".repeat(100));
        },
        "exit" => std::process::exit(3),
        "abort" => std::process::abort(),
        other => return Err(format!("no such attempt: {other}").into()),
    })
}
