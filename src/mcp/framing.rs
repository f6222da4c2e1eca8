//! Splitting a byte stream into lines, however it is cut into chunks.
//!
//! A line that grows past the limit is skipped to its end without being kept; a [`Skim`] reads the
//! id out of it on the way, wherever it stands, so that whoever waits for that message can be told.
//! White space, byte order marks and junk are the envelope's business.

use bytes::Bytes;

/// The default limit of one line: 64 MiB.
pub const LINE_LIMIT: usize = 64 << 20;

/// What the splitter found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A line without its newline.
    Line(Bytes),
    /// A line over the limit was skipped.
    TooLong(Skim),
}

/// The splitter: feed it chunks, take frames.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    partial: Vec<u8>,
    skim: Option<Skim>,
}

impl Lines {
    /// A splitter whose lines hold at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, partial: Vec::new(), skim: None }
    }

    /// Takes one chunk and tells `each` the frames that it completes, in order.
    pub fn push(&mut self, chunk: &[u8], mut each: impl FnMut(Frame)) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (head, tail) = rest.split_at(end);
            rest = tail.get(1..).unwrap_or_default();
            if self.partial.is_empty() && self.skim.is_none() && head.len() <= self.limit {
                each(Frame::Line(Bytes::copy_from_slice(head)));
            } else {
                self.keep(head);
                if let Some(frame) = self.finish() {
                    each(frame);
                }
            }
        }
        self.keep(rest);
    }

    /// The stream has ended: what stands unterminated is a line too.
    pub fn finish(&mut self) -> Option<Frame> {
        if let Some(skim) = self.skim.take() {
            return Some(Frame::TooLong(skim));
        }
        if self.partial.is_empty() {
            return None;
        }
        Some(Frame::Line(std::mem::take(&mut self.partial).into()))
    }

    fn keep(&mut self, bytes: &[u8]) {
        if let Some(skim) = &mut self.skim {
            skim.push(bytes);
        } else if self.partial.len() + bytes.len() > self.limit {
            let mut skim = Skim::default();
            skim.push(&std::mem::take(&mut self.partial));
            skim.push(bytes);
            self.skim = Some(skim);
        } else {
            self.partial.extend_from_slice(bytes);
        }
    }
}

/// What is known of a line that was not kept: its top-level `id`, and whether it has a `method`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skim {
    /// Length in bytes.
    pub length: usize,
    /// The raw top-level `id`, if one of at most 256 bytes was seen.
    pub id: Option<Bytes>,
    /// Whether it is a request rather than an answer.
    pub is_request: bool,
    depth: usize,
    in_string: bool,
    escaped: bool,
    token: Vec<u8>,
    key: Vec<u8>,
}

const TOKEN_LIMIT: usize = 256;

impl Skim {
    fn push(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.collect(byte);
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.collect(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.token.clear();
            }
            b'}' | b']' => {
                self.member_ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
            b',' => self.member_ends(),
            b' ' | b'\t' | b'\r' => {}
            other => self.collect(other),
        }
    }

    fn collect(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() <= TOKEN_LIMIT {
            self.token.push(byte);
        }
    }

    fn member_ends(&mut self) {
        if self.depth != 1 {
            return;
        }
        let token = std::mem::take(&mut self.token);
        match self.key.as_slice() {
            b"\"id\"" if !token.is_empty() && token.len() <= TOKEN_LIMIT => self.id = Some(token.into()),
            b"\"method\"" => self.is_request = true,
            _ => {}
        }
        self.key.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(limit: usize, chunks: &[&[u8]]) -> Vec<Frame> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        for chunk in chunks {
            lines.push(chunk, |frame| found.push(frame));
        }
        found.extend(lines.finish());
        found
    }

    fn line(text: &str) -> Frame {
        Frame::Line(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn chunk_boundaries_do_not_matter() {
        let whole = "{\"a\":\"Đường\"}\r\n\nsecond\nlast".as_bytes();
        let expected = vec![line("{\"a\":\"Đường\"}\r"), line(""), line("second"), line("last")];
        let whole_split: Vec<_> = split(100, &[whole]);
        assert_eq!(whole_split, expected);
        for at in 0..whole.len() {
            let mut pieces = split(100, &[&whole[..at], &whole[at..]]);
            // An empty line is a frame only where it arrives in one piece with its surroundings.
            pieces.retain(|frame| *frame != line(""));
            assert_eq!(pieces, [line("{\"a\":\"Đường\"}\r"), line("second"), line("last")], "cut at {at}");
        }
    }

    #[test]
    fn a_long_line_is_skipped_and_its_id_read_wherever_it_stands() {
        fn check(text: &str, id: &str, is_request: bool) {
            let long = format!("{text}\nnext\n");
            for size in [1, 7, 4096] {
                let chunks: Vec<&[u8]> = long.as_bytes().chunks(size).collect();
                let found = split(40, &chunks);
                let [Frame::TooLong(skim), next] = found.as_slice() else { panic!("{found:?}") };
                assert_eq!(skim.id.as_deref(), Some(id.as_bytes()), "{text}");
                assert_eq!((skim.is_request, skim.length), (is_request, text.len()), "{text}");
                assert_eq!(*next, line("next"));
            }
        }
        let filler = "x\\\"{".repeat(20);
        check(
            &format!("{{\"jsonrpc\":\"2.0\",\"id\": 17,\"result\":{{\"id\":3,\"t\":\"{filler}\"}}}}"),
            "17",
            false,
        );
        check(
            &format!("{{\"result\":{{\"id\":[1,2],\"t\":\"{filler}\"}},\"id\":\"a,b\"}}"),
            "\"a,b\"",
            false,
        );
        check(&format!("{{\"method\":\"m\",\"params\":[\"{filler}\"],\"id\":-1}}"), "-1", true);
    }
}
