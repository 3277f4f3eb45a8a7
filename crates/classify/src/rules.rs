//! The form in which tables of names are kept in `rules/`: sections with a header, and names.
//!
//! `[header] remark` opens a section; the words of the lines below it are its names; a line that
//! begins with `#` is a comment. What headers and names mean is for their readers to know.

/// One section of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// What stands in the brackets.
    pub(crate) header: &'static str,
    /// What stands behind them.
    pub(crate) remark: &'static str,
    text: &'static str,
}

impl Section {
    /// Walks the names of the section.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(str::split_whitespace)
    }
}

/// Walks the sections of a table; what stands before the first one is left out.
pub(crate) fn sections(table: &'static str) -> impl Iterator<Item = Section> {
    table.split("\n[").skip(1).filter_map(|section| {
        let (header, rest) = section.split_once(']')?;
        let (remark, text) = rest.split_once('\n').unwrap_or((rest, ""));
        let remark = remark.trim();
        Some(Section {
            header,
            remark,
            text,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_falls_into_sections() {
        let table = "# about\nlost\n[one 1] first\na b\n# note\nc\n\n[two]\nd\n[three]";
        let found: Vec<_> = sections(table)
            .map(|it| {
                format!(
                    "{}|{}|{}",
                    it.header,
                    it.remark,
                    it.names().collect::<String>()
                )
            })
            .collect();
        assert_eq!(found, ["one 1|first|abc", "two||d", "three||"]);
    }

    #[test]
    fn every_table_begins_with_a_comment() {
        // A header in the first line would not be seen.
        for table in [
            include_str!("../rules/agents.txt"),
            include_str!("../rules/endpoints.txt"),
            include_str!("../rules/purposes.txt"),
            include_str!("../rules/upstreams.txt"),
            include_str!("../rules/verbs.txt"),
        ] {
            assert!(table.starts_with("# "));
            assert!(sections(table).all(|section| section.names().next().is_some()));
        }
    }
}
