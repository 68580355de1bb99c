// SPDX-License-Identifier: MIT OR Apache-2.0
//! The release of the running kernel.

/// Oldest supported kernel: 6.0 lets a control set the pacing rate, which yielding needs, and 6.1 is the next
/// maintained release.
pub const OLDEST: (u32, u32) = (6, 1);

/// Returns the major and minor number of the running kernel, (0, 0) if unknown.
pub fn kernel() -> (u32, u32) {
    nix::sys::utsname::uname()
        .ok()
        .and_then(|names| parse(&names.release().to_string_lossy()))
        .unwrap_or((0, 0))
}

fn parse(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn releases_of_distributions_are_understood() {
        assert_eq!(parse("6.1.0-28-amd64"), Some((6, 1)));
        assert_eq!(parse("5.15.0-91-generic"), Some((5, 15)));
        assert_eq!(parse("6.18-rc3"), Some((6, 18)));
        assert_eq!(parse("plan9"), None);
    }
}
