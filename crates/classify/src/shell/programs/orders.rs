//! Orders to programs that move files by a language of their own: `put FILE` to sftp and its kin,
//! in their input, in a file, or as an option.

use super::super::interp::Interp;
use super::super::value::Value;

/// Orders that are read; the rest of a long list is not worth the time.
const MOST: usize = 256;

impl Interp {
    /// Follows orders; gives what they would send.
    pub(super) fn orders(&mut self, orders: &str, name: &str, stdin: &Value) -> Value {
        let mut sent = Value::default();
        for order in orders.split(['\n', ';']).take(MOST) {
            let order = order.trim();
            if let Some(code) = order.strip_prefix('!') {
                // An escape to the shell of this machine.
                self.run_code(&Value::text(code), stdin);
                continue;
            }
            for file in files(order) {
                let read = self.read(&Value::text(file), name, &Value::default());
                sent.push(&read);
            }
        }
        sent
    }
}

/// Returns the files of this machine that an order would send.
fn files(order: &str) -> Vec<&str> {
    let mut words = order.split_whitespace();
    let verb = words.next().unwrap_or_default().to_ascii_lowercase();
    let (options, operands): (Vec<&str>, Vec<&str>) = words.partition(|word| word.starts_with('-'));
    let operands = operands
        .into_iter()
        .map(|word| word.trim_matches(['"', '\'']));
    let most = match verb.as_str() {
        // The second one is its name over there.
        "put" | "reput" | "send" | "append" => 1,
        "mput" => usize::MAX,
        "mirror" if options.iter().any(|one| is_reverse(one)) => 1,
        _ => 0,
    };
    operands.take(most).collect()
}

fn is_reverse(option: &str) -> bool {
    option == "--reverse" || (!option.starts_with("--") && option.contains('R'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_sends_names_files_of_ours() {
        let check = |order: &str, expect: &[&str]| assert_eq!(files(order), expect, "{order}");
        check("put ~/.ssh/id_rsa", &["~/.ssh/id_rsa"]);
        check("PUT -P 'a' b", &["a"]);
        check("mput a b", &["a", "b"]);
        check("mirror -R src dst", &["src"]);
        check("mirror --reverse src", &["src"]);
        check("mirror src dst", &[]);
        check("get a b", &[]);
        check("cd /srv", &[]);
        check("output put", &[]);
        check("", &[]);
    }
}
