//! The beginning of an input: its kind, its encoding, and what separates its columns.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Context, bail};
use encoding_rs_io::DecodeReaderBytesBuilder;

/// The first bytes of files that are no text, with the advice for each.
const KINDS: [(&[u8], &str); 8] = [
    (
        b"PK\x03\x04",
        "is a spreadsheet or a zip archive; save the sheet as CSV in UTF-8, or unpack the archive",
    ),
    (b"\xd0\xcf\x11\xe0", "is a spreadsheet of an old form (xls); save the sheet as CSV in UTF-8"),
    (b"\x1f\x8b", "is compressed (gzip); unpack it first, for example with gunzip"),
    (b"\x28\xb5\x2f\xfd", "is compressed (zstd); unpack it first, for example with unzstd"),
    (b"\xfd7zXZ\0", "is compressed (xz); unpack it first, for example with unxz"),
    (b"BZh91AY", "is compressed (bzip2); unpack it first, for example with bunzip2"),
    (b"PAR1", "is a Parquet file; write its rows as CSV or as JSON Lines"),
    (b"%PDF", "is a PDF; write its rows as CSV or as JSON Lines"),
];
/// The byte order marks of UTF-16.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Returns a reader of UTF-8 without a byte order mark. UTF-16 is converted. Fails for a file that is no text.
pub(crate) fn text(
    input: impl Read + Send + 'static,
    path: &Path,
) -> anyhow::Result<Box<dyn BufRead + Send>> {
    let mut input = BufReader::new(input);
    let start = input.fill_buf().with_context(|| format!("cannot read {}", path.display()))?;
    if let Some((_, advice)) = KINDS.iter().find(|(bytes, _)| start.starts_with(bytes)) {
        bail!("{} {advice}", path.display());
    }
    if start.contains(&0) && !UTF_16.iter().any(|mark| start.starts_with(mark)) {
        bail!("{} is not a text file; write its rows as CSV or as JSON Lines, in UTF-8", path.display());
    }
    let decoded = DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(input);
    Ok(Box::new(BufReader::new(decoded)))
}

/// Characters that separate columns, the usual one first, with their names.
const SEPARATORS: [(u8, &str); 3] = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs")];
/// Maximum length of a header, in bytes.
const MAX_HEADER: usize = 1 << 20;

/// Returns the character that separates the columns of a CSV file, and a reader of the file. The character that is most
/// frequent in the header separates them, unless a first line names it, as Excel writes it (`sep=;`).
pub(crate) fn separated(
    mut input: Box<dyn BufRead + Send>,
    path: &Path,
) -> anyhow::Result<(u8, Box<dyn BufRead + Send>)> {
    let (mut header, mut quotes) = (Vec::new(), 0);
    loop {
        let begun = header.len();
        let room = MAX_HEADER.saturating_sub(header.len()) as u64;
        let length = (&mut input).take(room).read_until(b'\n', &mut header);
        let length = length.with_context(|| format!("cannot read {}", path.display()))?;
        quotes += occurrences(&header[begun..], b'"');
        // A line break in quotes does not end the header.
        if length == 0 || quotes.is_multiple_of(2) {
            break;
        }
    }
    if let Some(named) = named_separator(&header) {
        return Ok((named, input));
    }
    let counts = SEPARATORS.map(|(separator, _)| unquoted(&header, separator));
    let most = counts.into_iter().max().unwrap_or_default();
    let frequent =
        || SEPARATORS.iter().zip(counts).filter(|(_, count)| *count == most).map(|(found, _)| found);
    let separator = match (most, frequent().count()) {
        (0, _) => b',',
        (_, 1) => frequent().next().map_or(b',', |(separator, _)| *separator),
        _ => bail!(
            "the columns of {} are separated by {}: the header has as many of each; write sep=; (or the right one) in a line \
             before the header",
            path.display(),
            frequent().map(|(_, name)| *name).collect::<Vec<_>>().join(" or by ")
        ),
    };
    Ok((separator, Box::new(Cursor::new(header).chain(input))))
}

/// Returns the separator that a first line names.
fn named_separator(line: &[u8]) -> Option<u8> {
    let line = line.strip_suffix(b"\n")?;
    let named = line.strip_suffix(b"\r").unwrap_or(line);
    let (name, separator) = named.split_at_checked(b"sep=".len())?;
    match separator {
        [separator @ (b',' | b';' | b'\t' | b'|')] if name.eq_ignore_ascii_case(b"sep=") => Some(*separator),
        _ => None,
    }
}

/// Returns the number of these bytes outside quotes.
fn unquoted(header: &[u8], byte: u8) -> usize {
    header.split(|&found| found == b'"').step_by(2).map(|text| occurrences(text, byte)).sum()
}

/// Returns the number of these bytes.
fn occurrences(text: &[u8], byte: u8) -> usize {
    text.split(|&found| found == byte).count() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separator(text: &'static str) -> anyhow::Result<(u8, String)> {
        let (separator, mut reader) = separated(Box::new(text.as_bytes()), Path::new("rows.csv"))?;
        let mut rest = String::new();
        reader.read_to_string(&mut rest)?;
        Ok((separator, rest))
    }

    #[test]
    fn the_header_tells_what_separates_columns() {
        for (text, expected) in [
            ("id,text\n1,a;b;c\n", b','),
            ("id;text\r\n1;fine, really\r\n", b';'),
            ("id\ttext\n", b'\t'),
            ("text\na,b\n", b','),
            ("id;\"text, long, of\nmany lines\";note\n", b';'),
            ("id,text,note;s\n", b','),
        ] {
            let (separator, rest) = separator(text).unwrap();
            assert_eq!((separator, rest.as_str()), (expected, text), "{text}");
        }
        assert_eq!(separator("sep=;\r\nid;text\r\n").unwrap(), (b';', "id;text\r\n".to_owned()));
        assert_eq!(separator("SEP=|\nid|a,b\n").unwrap(), (b'|', "id|a,b\n".to_owned()));
        let error = separator("id;text, long\n1;fine\n").unwrap_err().to_string();
        assert!(error.contains("separated by commas or by semicolons"), "{error}");
    }

    #[test]
    fn utf_16_is_converted_and_other_files_get_advice() {
        let read = |bytes: Vec<u8>| {
            let mut read = String::new();
            text(Cursor::new(bytes), Path::new("rows.csv"))?.read_to_string(&mut read)?;
            anyhow::Ok(read)
        };
        let little: Vec<u8> = "\u{feff}id,ü\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "\u{feff}id,ü\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big, "\u{feff}id,ü\n".into(), "id,ü\n".into()] {
            assert_eq!(read(bytes).unwrap(), "id,ü\n");
        }
        for (bytes, advice) in [
            (&b"PK\x03\x04\x14\0"[..], "rows.csv is a spreadsheet"),
            (b"\x1f\x8b\x08\0", "rows.csv is compressed (gzip)"),
            (b"PAR1\x15\x04", "Parquet"),
            (b"i\0d\0,\0x\0", "is not a text file"),
        ] {
            let error = read(bytes.to_vec()).unwrap_err().to_string();
            assert!(error.contains(advice), "{error}");
        }
    }
}
