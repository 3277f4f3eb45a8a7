//! Round trips through files: what changes, and what stays.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// Does something to a file of this name and text, and returns the text then, or why not.
fn check(name: &str, text: &str, change: impl Fn(&Path) -> Result<(), Error>) -> String {
    let (folder, file) = file(name, Some(text));
    match change(&file) {
        Ok(()) => fs::read_to_string(&file).unwrap(),
        Err(error) => {
            assert_eq!(
                fs::read_to_string(&file).unwrap(),
                text,
                "a failed change writes nothing"
            );
            error
                .to_string()
                .replace(&format!("{}/", folder.path().display()), "")
        }
    }
}

fn file(name: &str, text: Option<&str>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    if let Some(text) = text {
        fs::write(&file, text).unwrap();
    }
    (folder, file)
}

fn entry() -> Map<String, Value> {
    let entry = json!({"env": {"TOKEN": "${TOKEN}"}, "command": "npx", "args": ["-y", "pkg@1"]});
    entry.as_object().unwrap().clone()
}

fn add(name: &str, text: &str) -> String {
    check(name, text, |file| add_upstream(file, "new", &entry()))
}

fn remove(name: &str, text: &str) -> String {
    check(name, text, |file| remove_upstream(file, "old"))
}

const YAML: &str = "\
# All my servers.
listen: 127.0.0.1:1 # here

mcpServers:
    # The first.
    first:
        command: a # program
        args:
            - x
    old:
        command: b
        # env:
        #     A: b

    # Said about nothing.
# The end.
security: {}
";

#[test]
fn add_to_yaml() {
    assert_snapshot!(add("a.yaml", YAML), @r#"
    # All my servers.
    listen: 127.0.0.1:1 # here

    mcpServers:
        # The first.
        first:
            command: a # program
            args:
                - x
        old:
            command: b
            # env:
            #     A: b
        new:
            command: npx
            args: ["-y", "pkg@1"]
            env:
                TOKEN: "${TOKEN}"

        # Said about nothing.
    # The end.
    security: {}
    "#);
}

#[test]
fn add_to_yaml_without_upstreams() {
    assert_snapshot!(add("a.yaml", ""), @r#"
    mcpServers:
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    "#);
    assert_snapshot!(add("a.yaml", "# nothing yet"), @r#"
    # nothing yet
    mcpServers:
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    "#);
    assert_snapshot!(add("a.yaml", "listen: 127.0.0.1:1"), @r#"
    listen: 127.0.0.1:1
    mcpServers:
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    "#);
    assert_snapshot!(add("a.yaml", "mcpServers: # mine\n# end\n"), @r#"
    mcpServers: # mine
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    # end
    "#);
    assert_snapshot!(add("a.yaml", "mcpServers: {} # none\nlog: {}\n"), @r#"
    mcpServers: # none
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    log: {}
    "#);
    assert_snapshot!(add("a.yaml", "mcpServers: []\n"), @r#"
    mcpServers:
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    "#);
}

#[test]
fn add_to_other_layouts() {
    let list =
        "mcpServers:\n- name: a # one\n  command: x\n- name: b\n  url: https://b\n\nlog: {}\n";
    assert_snapshot!(add("a.yaml", list), @r#"
    mcpServers:
    - name: a # one
      command: x
    - name: b
      url: https://b
    - name: new
      command: npx
      args: ["-y", "pkg@1"]
      env:
        TOKEN: "${TOKEN}"

    log: {}
    "#);
    assert_snapshot!(add("a.yaml", "mcpServers: {a: {command: x}} # one line\n"), @r#"mcpServers: {a: {command: x}, "new": {"command": "npx", "args": ["-y", "pkg@1"], "env": {"TOKEN": "${TOKEN}"}}} # one line"#);
    assert_snapshot!(add("a.yaml", "mcpServers:\r\n  a:\r\n    command: x\r\n").replace('\r', "^"), @r#"
    mcpServers:^
      a:^
        command: x^
      new:^
        command: npx^
        args: ["-y", "pkg@1"]^
        env:^
          TOKEN: "${TOKEN}"^
    "#);
    let block = "mcpServers:\n  a:\n    command: x\ninstructions: |\n  last\n  line\n";
    assert_snapshot!(add("a.yaml", block), @r#"
    mcpServers:
      a:
        command: x
      new:
        command: npx
        args: ["-y", "pkg@1"]
        env:
          TOKEN: "${TOKEN}"
    instructions: |
      last
      line
    "#);
}

const JSON: &str = "\
{
\t\"listen\": \"127.0.0.1:1\",
\t\"mcpServers\": {
\t\t\"old\": { \"command\": \"b\" },
\t\t\"last\": {
\t\t\t\"command\": \"\\ud83d\\ude00\"
\t\t}
\t}
}
";

#[test]
fn add_to_json() {
    assert_snapshot!(add("a.json", JSON), @r#"
    {
    	"listen": "127.0.0.1:1",
    	"mcpServers": {
    		"old": { "command": "b" },
    		"last": {
    			"command": "\ud83d\ude00"
    		},
    		"new": {
    			"command": "npx",
    			"args": ["-y", "pkg@1"],
    			"env": {
    				"TOKEN": "${TOKEN}"
    			}
    		}
    	}
    }
    "#);
    assert_snapshot!(add("a.json", ""), @r#"
    {
      "mcpServers": {
        "new": {
          "command": "npx",
          "args": ["-y", "pkg@1"],
          "env": {
            "TOKEN": "${TOKEN}"
          }
        }
      }
    }
    "#);
    assert_snapshot!(add("a.json", "{}\n"), @r#"
    {
      "mcpServers": {
        "new": {
          "command": "npx",
          "args": ["-y", "pkg@1"],
          "env": {
            "TOKEN": "${TOKEN}"
          }
        }
      }
    }
    "#);
    assert_snapshot!(add("a.json", "{\n    \"log\": {}\n}\n"), @r#"
    {
        "log": {},
        "mcpServers": {
            "new": {
                "command": "npx",
                "args": ["-y", "pkg@1"],
                "env": {
                    "TOKEN": "${TOKEN}"
                }
            }
        }
    }
    "#);
    assert_snapshot!(add("a.json", "{\"mcpServers\": {}}"), @r#"
    {"mcpServers": {
      "new": {
        "command": "npx",
        "args": ["-y", "pkg@1"],
        "env": {
          "TOKEN": "${TOKEN}"
        }
      }
    }}
    "#);
    assert_snapshot!(add("a.json", "{\"mcpServers\": [{\"name\": \"a\", \"command\": \"x\"}]}"), @r#"{"mcpServers": [{"name": "a", "command": "x"}, {"name": "new", "command": "npx", "args": ["-y", "pkg@1"], "env": {"TOKEN": "${TOKEN}"}}]}"#);
}

#[test]
fn add_is_refused() {
    let taken = "mcpServers: {new: {command: x}}\n";
    assert_snapshot!(add("a.yaml", taken), @"`a.yaml` has an upstream `new` already");
    assert_snapshot!(add("a.yaml", "mcpServers:\n  - {name: new, command: x}\n"), @"`a.yaml` has an upstream `new` already");
    assert_snapshot!(add("a.yaml", "base: &b {a: {command: x}}\nmcpServers: *b\n"), @"cannot edit `a.yaml` in place: it uses an alias at this place");
    assert_snapshot!(add("a.yaml", "a: 1\na: 2\n"), @"a.yaml:2:1: a: duplicate key; it is given on line 1 already");
    assert_snapshot!(add("a.yaml", "- a\n"), @"cannot edit `a.yaml` in place: it is not a map of keys and values");
    assert_snapshot!(check("a.yaml", "", |file| add_upstream(file, "a__b", &entry())), @"`a__b` is no name for an upstream: `__` separates upstream and tool");
}

#[test]
fn remove_from_yaml() {
    assert_snapshot!(remove("a.yaml", YAML), @"
    # All my servers.
    listen: 127.0.0.1:1 # here

    mcpServers:
        # The first.
        first:
            command: a # program
            args:
                - x

        # Said about nothing.
    # The end.
    security: {}
    ");
    assert_snapshot!(remove("a.yaml", "mcpServers:\n  old:\n    command: x"), @"mcpServers:");
    assert_snapshot!(remove("a.yaml", "mcpServers:\n  - name: old\n    command: x\n  - name: b\n    command: y\n"), @"
    mcpServers:
      - name: b
        command: y
    ");
    assert_snapshot!(remove("a.yaml", "mcpServers: {old: {command: x}, b: {command: y}} # two\n"), @"mcpServers: {b: {command: y}} # two");
    assert_snapshot!(remove("a.yaml", "mcpServers: {a: {command: x}, old: {command: y}}\n"), @"mcpServers: {a: {command: x}}");
    assert_snapshot!(remove("a.yaml", "mcpServers: { old: {command: y} }\n"), @"mcpServers: {}");
    assert_snapshot!(remove("a.yaml", "mcpServers: {old: &o {command: y}, b: *o}\n"), @"cannot edit `a.yaml` in place: its layout is unusual at this place");
    assert_snapshot!(remove("a.yaml", "mcpServers: {}\n"), @"`a.yaml` has no upstream `old`");
}

#[test]
fn remove_from_json() {
    assert_snapshot!(remove("a.json", JSON), @r#"
    {
    	"listen": "127.0.0.1:1",
    	"mcpServers": {
    		"last": {
    			"command": "\ud83d\ude00"
    		}
    	}
    }
    "#);
    assert_snapshot!(check("a.json", JSON, |file| remove_upstream(file, "last")), @r#"
    {
    	"listen": "127.0.0.1:1",
    	"mcpServers": {
    		"old": { "command": "b" }
    	}
    }
    "#);
}

#[test]
fn switch() {
    let switch = |name: &str, text: &str, enabled| {
        check(name, text, |file| set_enabled(file, "old", enabled))
    };
    assert_snapshot!(switch("a.yaml", YAML, false), @"
    # All my servers.
    listen: 127.0.0.1:1 # here

    mcpServers:
        # The first.
        first:
            command: a # program
            args:
                - x
        old:
            command: b
            enabled: false
            # env:
            #     A: b

        # Said about nothing.
    # The end.
    security: {}
    ");
    assert_snapshot!(switch("a.json", JSON, false), @r#"
    {
    	"listen": "127.0.0.1:1",
    	"mcpServers": {
    		"old": { "command": "b", "enabled": false },
    		"last": {
    			"command": "\ud83d\ude00"
    		}
    	}
    }
    "#);
    let text = "mcpServers:\n  old:\n    enabled: true # for now\n    command: x\n";
    assert_snapshot!(switch("a.yaml", text, false), @"
    mcpServers:
      old:
        enabled: false # for now
        command: x
    ");
    let text = "mcpServers:\n  - disabled: true\n    name: old\n    command: x\n";
    assert_snapshot!(switch("a.yaml", text, true), @"
    mcpServers:
      - disabled: false
        name: old
        command: x
    ");
}

#[test]
fn patch() {
    let patch = json!({"command": "c", "args": null, "env": {"A": "b c"}, "working_dir": "/x"});
    let patch = patch.as_object().unwrap();
    let text = "mcpServers:\n  old:\n    args: # these\n      - a\n    command: b # program\n    cwd: /y\n    env:\n      X: y\n# end\n";
    assert_snapshot!(check("a.yaml", text, |file| patch_upstream(file, "old", patch)), @r#"
    mcpServers:
      old:
        command: c # program
        cwd: /x
        env:
          A: "b c"
    # end
    "#);
    let text = "{\"mcpServers\": {\"old\": {\"args\": [], \"command\": \"b\"}}}";
    assert_snapshot!(check("a.json", text, |file| patch_upstream(file, "old", patch)), @r#"{"mcpServers": {"old": {"command": "c", "env": {"A": "b c"}, "working_dir": "/x"}}}"#);
}

#[test]
fn modes_and_links() {
    let mode = |file: &Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    let (folder, path) = file("sub/mcpproxy.yaml", None);
    add_upstream(&path, "new", &entry()).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path().join("link.yaml");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    set_enabled(&link, "new", false).unwrap();
    assert_eq!(mode(&path), 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .contains("enabled: false")
    );
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "no leftovers"
    );
}

#[test]
fn a_change_by_somebody_else_is_kept() {
    let (_folder, path) = file("a.yaml", Some("listen: 127.0.0.1:1\n"));
    let mut document = Document::open(&path).unwrap();
    document.insert(&[], "log", &json!({})).unwrap();
    fs::write(&path, "listen: 127.0.0.1:2\n").unwrap();
    assert!(matches!(document.save(), Err(Error::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "listen: 127.0.0.1:2\n");
}

mod random {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the values are, what was added is read back, and removing it restores the text.
        #[test]
        fn values_survive(command in "\\PC{1,20}", key in "[A-Z]{1,5}", value in any::<String>(), json in any::<bool>()) {
            let name = if json { "a.json" } else { "a.yaml" };
            let text = if json { JSON } else { YAML };
            let (_folder, path) = file(name, Some(text));
            let entry = json!({"command": command, "env": {key: value}});
            match add_upstream(&path, "new", entry.as_object().unwrap()) {
                Ok(()) => {
                    remove_upstream(&path, "new").unwrap();
                    prop_assert_eq!(fs::read_to_string(&path).unwrap(), text);
                }
                // Characters that YAML cannot carry are refused, never changed.
                Err(error) => prop_assert!(matches!(error, Error::Unsuited { .. }), "{error}"),
            }
        }
    }
}

#[test]
fn a_patch_is_laid_over_a_file_and_leaves_the_rest() {
    let check = |text: &str, patch: Value, expect: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mcpproxy.yaml");
        fs::write(&file, text).unwrap();
        let patch = patch.as_object().unwrap();
        assert_eq!(patched(&file, patch).unwrap(), expect);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    };
    check(
        "# mine\nlisten: 127.0.0.1:1\nsecurity:\n  mode: shadow # for now\n",
        json!({ "security": { "mode": "enforce" } }),
        "# mine\nlisten: 127.0.0.1:1\nsecurity:\n  mode: enforce # for now\n",
    );
    check(
        "listen: 127.0.0.1:1\nlog:\n  level: info\n",
        json!({ "log": null, "routing_mode": "all" }),
        "listen: 127.0.0.1:1\nrouting_mode: all\n",
    );
}

#[test]
fn a_text_that_is_put_keeps_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mcpproxy.yaml");
    assert_eq!(put(&file, "a: 1\n").unwrap(), None);
    for (text, before) in [("a: 2\n", "a: 1\n"), ("a: 3\n", "a: 2\n")] {
        let kept = put(&file, text).unwrap().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(fs::read_to_string(kept).unwrap(), before);
    }
}

/// Regression for #8: a map was printed over several lines, which YAML does not take within a line.
#[test]
fn a_map_within_a_line_stays_there() {
    let patch = json!({ "env": { "A": "c", "B": "d" } });
    let patch = patch.as_object().unwrap();
    for (line, expect) in [
        (
            "{command: a, env: {A: b}}",
            "{command: a, env: {\"A\": \"c\", \"B\": \"d\"}}",
        ),
        (
            "{\"env\": {\"A\": \"b\"}, command: a}",
            "{\"env\": {\"A\": \"c\", \"B\": \"d\"}, command: a}",
        ),
    ] {
        let text = |line: &str| format!("mcpServers:\n  old: {line}\n");
        let became = check("a.yaml", &text(line), |file| {
            patch_upstream(file, "old", patch)
        });
        assert_eq!(became, text(expect));
    }
}
