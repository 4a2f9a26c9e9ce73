//! Text of files that others wrote, read up to a stated length.

use std::io::{self, Read};

/// The text of a file, refused if it is longer than this many MiB. The limit applies to the bytes
/// that are read, because a file may grow meanwhile and some system files report no length.
///
/// # Errors
/// If it cannot be read, is too long or is no text.
pub(crate) fn read_text(file: impl Read, longest_mib: u64) -> io::Result<String> {
    let longest = longest_mib << 20;
    let mut bytes = Vec::new();
    // One extra byte distinguishes a file that is too long from one that just fits.
    file.take(longest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest {
        let told = format!("it is longer than {longest_mib} MiB: give a shorter file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, told));
    }
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(bytes).map_err(no_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_just_the_greatest_length_is_read_and_a_longer_one_is_not() {
        let text = "x".repeat(1 << 20);
        assert_eq!(read_text(text.as_bytes(), 1).unwrap(), text);
        // A cut in the middle of a character would make the text invalid UTF-8.
        let told = read_text((text + "xä").as_bytes(), 1).unwrap_err().to_string();
        assert!(told.contains("longer than 1 MiB"), "{told}");
        assert!(read_text(io::repeat(0), 1).is_err());
        assert!(read_text(&b"\xff"[..], 1).unwrap_err().to_string().contains("UTF-8"));
    }
}
