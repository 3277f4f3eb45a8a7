//! The inspector's command line, in both eras.

use serde_json::{Value, json};

use super::{COMMIT, NOTE, Setting};
use crate::support::{names_of, text_of};

struct Inspector<'a> {
    setting: &'a Setting,
    era: &'a str,
}

impl Inspector<'_> {
    /// Runs one method and returns its result.
    async fn ask(&self, method: &str, more: &[String]) -> Value {
        let tools = &self.setting.tools;
        let script = tools.package("inspector/clients/launcher/build/index.js");
        let url = self.setting.gateway.url("/mcp");
        let mut args: Vec<String> = vec![script.to_str().unwrap().to_owned()];
        let fixed = ["--cli", "--format", "json", "--protocol-era", self.era];
        args.extend(fixed.map(str::to_owned));
        args.extend(["--server-url", &url, "--method", method].map(str::to_owned));
        args.extend_from_slice(more);
        let printed = self.setting.run(&tools.node, &args).await;
        printed["result"].clone()
    }

    /// Calls a tool and returns the text of its result.
    async fn call(&self, tool: &str, arguments: &[(&str, Value)]) -> String {
        let mut args = vec!["--tool-name".to_owned(), tool.to_owned()];
        for (name, value) in arguments {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            args.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
        }
        let result = self.ask("tools/call", &args).await;
        assert_ne!(result["isError"], true, "{result}");
        text_of(&result).to_owned()
    }
}

async fn inspect(setting: &Setting, era: &str) {
    let inspector = Inspector { setting, era };
    let listed = inspector.ask("tools/list", &[]).await;
    let names = names_of(&listed["tools"]);
    for expect in [
        "everything__get-sum",
        "files__read_text_file",
        "git__git_log",
        "memory__create_entities",
    ] {
        assert!(names.contains(&expect), "{expect} is not in {names:?}");
    }
    let path = json!(setting.path("files/note.txt"));
    let note = inspector
        .call("files__read_text_file", &[("path", path)])
        .await;
    assert_eq!(note, NOTE);
    let repository = json!(setting.path("repository"));
    let log = inspector
        .call("git__git_log", &[("repo_path", repository)])
        .await;
    assert!(log.contains(COMMIT), "{log}");
    let sum = [("a", json!(2)), ("b", json!(40))];
    let sum = inspector.call("everything__get-sum", &sum).await;
    assert_eq!(sum, "The sum of 2 and 40 is 42.");
    // Two runs of the inspector: what one stores, the other reads.
    let entity = json!([{ "name": era, "entityType": "era", "observations": ["works"] }]);
    let entities = [("entities", entity)];
    inspector.call("memory__create_entities", &entities).await;
    let found = inspector
        .call("memory__open_nodes", &[("names", json!([era]))])
        .await;
    assert!(found.contains("works"), "{found}");
}

#[tokio::test]
async fn the_inspector_in_both_eras() {
    let Some(setting) = Setting::start().await else {
        return;
    };
    inspect(&setting, "legacy").await;
    inspect(&setting, "modern").await;
}
