//! The tokens of a Rust source.

/// The attribute of an item for tests.
const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

/// Removes the items with the attribute `#[cfg(test)]`.
pub fn without_tests(tokens: Vec<&str>) -> Vec<&str> {
    divided(&tokens).0
}

/// Returns the items with the attribute `#[cfg(test)]`.
pub fn only_tests(tokens: Vec<&str>) -> Vec<&str> {
    divided(&tokens).1
}

/// Divides tokens into those outside and those inside items with the attribute `#[cfg(test)]`.
fn divided<'a>(tokens: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let mut rest = tokens;
    let (mut code, mut tests) = (Vec::new(), Vec::new());
    while let Some((token, after)) = rest.split_first() {
        if let Some(item) = rest.strip_prefix(&TEST) {
            rest = after_item(item);
            tests.extend(&item[..item.len() - rest.len()]);
        } else {
            code.push(*token);
            rest = after;
        }
    }
    (code, tests)
}

/// Returns the tokens after an item, which ends with `;` or with a block.
fn after_item<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        // The brackets of another attribute end before the item.
        if depth == 0 && matches!(*token, ";" | "}") {
            return &tokens[at + 1..];
        }
    }
    &[]
}

/// Returns the names, numbers, lifetimes and signs of a source. Comments and literals are left out, but the literals of
/// attributes are read, because they can contain paths.
pub fn tokens(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    // The number of open brackets in an attribute.
    let mut attribute = 0_usize;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((length, text)) = literal(rest) {
            if attribute > 0 {
                found.extend(tokens(text));
            }
            length
        } else {
            let length = sign(rest, first);
            let token = &rest[..length];
            match token {
                "[" if attribute > 0 || matches!(found.as_slice(), [.., "#"] | [.., "#", "!"]) => {
                    attribute += 1;
                }
                "]" => attribute = attribute.saturating_sub(1),
                _ => {}
            }
            found.push(token);
            length
        };
        rest = &rest[length..];
    }
    found
}

/// Returns the length of a name, a number, a lifetime or a sign.
fn sign(rest: &str, first: char) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let start = usize::from(first == '\'');
    if rest.starts_with("::") {
        2
    } else if is_part(first) || first == '\'' {
        rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |end| start + end)
    } else {
        first.len_utf8()
    }
}

/// Returns the length of the string or character at the start, and its text.
fn literal(rest: &str) -> Option<(usize, &str)> {
    let plain = rest.trim_start_matches(['b', 'c']);
    let prefix = rest.len() - plain.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = plain.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let text = raw[hashes..].strip_prefix('"')?;
        let end = text.find(&format!("\"{}", "#".repeat(hashes)))?;
        return Some((prefix + 1 + hashes + 1 + end + 1 + hashes, &text[..end]));
    }
    let quote = plain.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    let text = &plain[1..];
    if quote == '\'' {
        // `'a` is a lifetime, `'a'` a character.
        let mut chars = text.chars();
        let (first, second) = (chars.next()?, chars.next()?);
        if first != '\\' && second != '\'' {
            return None;
        }
    }
    let mut escaped = false;
    let end = text.find(|c| {
        let ends = !escaped && c == quote;
        escaped = !escaped && c == '\\';
        ends
    })?;
    Some((prefix + 1 + end + 1, &text[..end]))
}
