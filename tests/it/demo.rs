//! The demo tells its story, in a form for eighty columns, and fails when the story does not hold.

use std::process::{Command, Stdio};

#[test]
fn the_demo_goes_as_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    let output = command.arg("demo").stdin(Stdio::null()).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for piece in ["DENIED", "allowed", "Bouncer asks the human", "[bouncer blocked]", "bea@partner.example"] {
        assert!(text.contains(piece), "no {piece:?} in:\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() < 80, "{line}");
        assert!(!line.contains('\u{1b}'), "no colour off a terminal: {line:?}");
    }
}
