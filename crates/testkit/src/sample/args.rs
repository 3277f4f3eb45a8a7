//! The arguments with which a sample is started as a process.

use std::io;

use super::{EraSupport, Options, Sample};

/// Reads `<sample> [--era both|legacy|modern] [--record FILE] [--many N] [--script FILE]`.
pub fn parse_arguments(
    arguments: impl IntoIterator<Item = String>,
) -> io::Result<(Sample, Options)> {
    let mut arguments = arguments.into_iter();
    let name = arguments.next().unwrap_or_default();
    let sample = Sample::named(&name).ok_or_else(|| {
        wrong(format!(
            "no sample is called `{name}`; there are {}",
            names()
        ))
    })?;
    let mut options = Options::default();
    while let Some(flag) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| wrong(format!("`{flag}` needs a value")))?;
        match flag.as_str() {
            "--era" => options.era = era(&value)?,
            "--record" => options.record = Some(value.into()),
            "--script" => options.script = Some(value.into()),
            "--many" => {
                options.many = value
                    .parse()
                    .map_err(|_| wrong(format!("`--many` needs a number, not `{value}`")))?;
            }
            _ => return Err(wrong(format!("unknown argument `{flag}`"))),
        }
    }
    Ok((sample, options))
}

fn era(value: &str) -> io::Result<EraSupport> {
    match value {
        "both" => Ok(EraSupport::Both),
        "legacy" => Ok(EraSupport::LegacyOnly),
        "modern" => Ok(EraSupport::ModernOnly),
        _ => Err(wrong(format!(
            "unknown era `{value}`; use both, legacy or modern"
        ))),
    }
}

fn names() -> String {
    Sample::ALL.map(Sample::name).join(", ")
}

fn wrong(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let check = |line: &str, expect: &str| {
            let found = match parse_arguments(line.split_whitespace().map(str::to_owned)) {
                Ok((sample, options)) => {
                    let record = options.record.unwrap_or_default();
                    let (era, many) = (options.era, options.many);
                    format!("{} {era:?} {} {many}", sample.name(), record.display())
                }
                Err(fault) => fault.to_string(),
            };
            assert_eq!(found, expect, "{line}");
        };
        check("echo", "echo Both  0");
        check(
            "slack --era modern --record r --many 9",
            "slack ModernOnly r 9",
        );
        check("github --era legacy", "github LegacyOnly  0");
        check(
            "",
            "no sample is called ``; there are github, slack, echo, script",
        );
        check("echo --era", "`--era` needs a value");
        check(
            "echo --era old",
            "unknown era `old`; use both, legacy or modern",
        );
        check("echo --many x", "`--many` needs a number, not `x`");
        check("echo --fast 1", "unknown argument `--fast`");
    }
}
