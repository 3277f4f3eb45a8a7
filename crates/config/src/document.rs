//! Other files in YAML, read as strictly as a configuration: every mistake with file, line and the
//! nearest known name. What they mean is for their owners.

use std::path::Path as FilePath;

use serde::de::DeserializeOwned;

use crate::decode::decode;
use crate::error::Problems;
use crate::load::too_large;
use crate::path::Path;
use crate::read;
use crate::report::Report;
use crate::source::{Source, Texts};

/// Reads a file of any form; every mistake that can be found is in the error.
pub fn read_document<T: DeserializeOwned + Default>(
    file: &FilePath,
    text: &str,
) -> Result<T, Problems> {
    let mut report = Report::default();
    let mut texts = Texts::default();
    if text.len() > read::LARGEST_FILE {
        report.add_problem(too_large(file));
        return report.finish().map(|()| T::default());
    }
    let number = texts.add(Source::new(file.to_owned(), text.to_owned()));
    let Some(mut node) = read::read(&texts, number, &mut report) else {
        return report.finish().map(|()| T::default());
    };
    let value = decode(&mut node, &Path::default(), &[], &texts, &mut report);
    report.finish().map(|()| value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_document_is_read_and_its_mistakes_have_places() {
        let read = |text| read_document::<BTreeMap<String, u8>>(FilePath::new("a.yaml"), text);
        assert_eq!(read("one: 1\n").unwrap()["one"], 1);
        let wrong = read("one: 1\ntwo: many\n").unwrap_err().to_string();
        assert!(wrong.starts_with("a.yaml:2:6: two: "), "{wrong}");
        assert!(read("one: [").is_err());
    }
}
