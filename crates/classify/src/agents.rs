//! The tools that agents bring along: files, shells, the web, helpers. Other agents' names for the
//! same tools are in the table below; names of tools behind MCP are taken apart in [`spelling`].
//!
//! Only a door that hears from the agent itself may ask here: an upstream can call its own tool
//! `Read` as well.

pub mod spelling;

use mcpproxy_core::{Masked, Operation};
use serde::Serialize;

use crate::class::{Class, Confidence, Kind, Method};
use crate::words::Words;

/// What a tool of an agent is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads files, or lists and searches them.
    ReadFiles,
    /// Creates or changes files.
    WriteFiles,
    /// Removes files.
    DeleteFiles,
    /// Runs commands: what they read and where they send is for the shell's reader to say.
    Shell,
    /// Looks at a command that runs.
    WatchShell,
    /// Stops a command that runs.
    StopShell,
    /// Gets an address.
    WebFetch,
    /// Asks a search engine.
    WebSearch,
    /// Drives a browser or a desktop.
    Browser,
    /// Hands work to another agent.
    Delegate,
    /// Talks to the person in front of it.
    AskUser,
    /// Keeps notes, plans and memories.
    Notes,
    /// Calls a tool or reads a resource behind MCP, named in the arguments.
    CallUpstream,
    /// Puts something where others see it.
    Publish,
    /// Drives a cloud.
    Cloud,
}

impl Role {
    /// Returns the class of such tools.
    pub fn kind(self) -> Kind {
        match self {
            Self::ReadFiles
            | Self::WriteFiles
            | Self::DeleteFiles
            | Self::WatchShell
            | Self::StopShell
            | Self::AskUser
            | Self::Notes => Kind::Internal,
            Self::WebFetch | Self::WebSearch | Self::Publish => Kind::External,
            Self::Shell | Self::Browser | Self::Delegate | Self::CallUpstream | Self::Cloud => {
                Kind::Hybrid
            }
        }
    }

    /// Returns what such tools do.
    pub fn operation(self) -> Operation {
        match self {
            Self::ReadFiles
            | Self::WatchShell
            | Self::WebFetch
            | Self::WebSearch
            | Self::AskUser => Operation::Read,
            Self::WriteFiles
            | Self::Shell
            | Self::Browser
            | Self::Delegate
            | Self::Notes
            | Self::CallUpstream
            | Self::Publish
            | Self::Cloud => Operation::Write,
            Self::DeleteFiles | Self::StopShell => Operation::Destructive,
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::ReadFiles => "reads local files",
            Self::WriteFiles => "changes local files",
            Self::DeleteFiles => "removes local files",
            Self::Shell => "runs commands, which can read and send",
            Self::WatchShell => "looks at a running command",
            Self::StopShell => "stops a running command",
            Self::WebFetch => "gets an address on the web",
            Self::WebSearch => "asks a search engine",
            Self::Browser => "drives a browser or a desktop",
            Self::Delegate => "hands work to another agent",
            Self::AskUser => "talks to the user",
            Self::Notes => "keeps notes of the agent",
            Self::CallUpstream => "calls what its arguments name",
            Self::Publish => "puts something where others see it",
            Self::Cloud => "drives a cloud",
        }
    }

    /// Returns the class as a value with its reason.
    pub fn class(self) -> Class {
        Class {
            kind: self.kind(),
            confidence: Confidence::percent(95),
            method: Method::Heuristic,
            reason: Masked::from_safe(self.reason()),
        }
    }
}

/// Names of agents' tools, written as one word in lower case: Claude Code and its SDK, Cursor,
/// Copilot and VS Code, Codex, Gemini CLI, Qwen Code, Antigravity, Windsurf, Goose, `OpenCode`,
/// Kiro and Amazon Q, Cline and Roo, Droid, Zed, Crush, Amp, Claude Desktop.
const TOOLS: &[(Role, &[&str])] = &[
    (Role::ReadFiles, READ_FILES),
    (Role::WriteFiles, WRITE_FILES),
    (
        Role::DeleteFiles,
        &[
            "delete",
            "deletefile",
            "deletepath",
            "removefile",
            "deletefiles",
        ],
    ),
    (Role::Shell, SHELL),
    (
        Role::WatchShell,
        &[
            "bashoutput",
            "taskoutput",
            "getterminaloutput",
            "readbash",
            "commandstatus",
            "readpowershell",
            "listbash",
            "listpowershell",
            "joboutput",
            "readterminal",
            "terminallastcommand",
            "terminalselection",
            "monitor",
            "getpythonenvironmentdetails",
            "listprocesses",
        ],
    ),
    (
        Role::StopShell,
        &[
            "killshell",
            "killbash",
            "taskstop",
            "stopbash",
            "stoppowershell",
            "jobkill",
            "killterminal",
        ],
    ),
    (
        Role::WebFetch,
        &[
            "webfetch",
            "fetch",
            "fetchwebpage",
            "fetchurl",
            "readurlcontent",
            "readurl",
            "readwebpage",
            "browse",
            "download",
            "webscrape",
            "computercontrollerwebscrape",
            "githubrepo",
            "viewcontentchunk",
            "viewwebdocumentcontentchunk",
        ],
    ),
    (
        Role::WebSearch,
        &[
            "websearch",
            "googlewebsearch",
            "searchweb",
            "sourcegraph",
            "librarian",
            "imagesearch",
        ],
    ),
    (Role::Browser, BROWSER),
    (
        Role::Delegate,
        &[
            "task",
            "agent",
            "spawnagent",
            "subagent",
            "runsubagent",
            "newtask",
            "dispatchagent",
            "sendmessage",
            "sendinput",
            "teamcreate",
            "delegate",
            "dynamictaskcreatetask",
            "delegatetoagent",
            "usesubagent",
            "invokesubagent",
            "resumeagent",
            "oracle",
            "codebaseinvestigator",
            "waitagent",
            "followuptask",
            "browsersubagent",
            "skill",
            "slashcommand",
            "activateskill",
            "workflow",
            "useskill",
            "croncreate",
        ],
    ),
    (
        Role::AskUser,
        &[
            "askuserquestion",
            "askuser",
            "askfollowupquestion",
            "question",
            "notifyuser",
            "attemptcompletion",
            "exitplanmode",
            "enterplanmode",
            "planmoderespond",
            "requestuserinput",
            "presentfiles",
            "suggestedresponses",
            "switchmode",
            "actmoderespond",
        ],
    ),
    (
        Role::Notes,
        &[
            "todowrite",
            "todoread",
            "updateplan",
            "writetodos",
            "managetodolist",
            "savememory",
            "creatememory",
            "memory",
            "reportintent",
            "taskcreate",
            "taskupdate",
            "tasklist",
            "taskget",
            "thinking",
            "think",
            "todolist",
            "knowledge",
            "updatetodolist",
            "todo",
            "todos",
            "introspect",
            "structuredoutput",
            "memoryremembermemory",
            "memoryretrievememories",
            "updatememory",
            "plan",
            "now",
            "toolsearch",
            "todotodowrite",
            "todotodoread",
        ],
    ),
    (
        Role::CallUpstream,
        &[
            "usemcptool",
            "accessmcpresource",
            "listmcpresources",
            "readmcpresource",
            "listmcpresourcestool",
            "readmcpresourcetool",
            "listmcpresourcetemplates",
            "fetchmcpresource",
            "callmcptool",
            "mcp",
            "mcpauth",
            "listresources",
            "readresource",
            "platformreadresource",
            "platformlistresources",
        ],
    ),
    (
        Role::Publish,
        &["deploywebapp", "reportissue", "createpullrequest"],
    ),
    (Role::Cloud, &["useaws", "aws", "remotetrigger"]),
];

const READ_FILES: &[&str] = &[
    "prereadcode",
    "read",
    "readfile",
    "readfiles",
    "readmanyfiles",
    "view",
    "viewfile",
    "viewfileoutline",
    "viewcodeitem",
    "viewlinerange",
    "fsread",
    "notebookread",
    "glob",
    "grep",
    "ls",
    "list",
    "listdir",
    "listdirectory",
    "listfiles",
    "grepsearch",
    "filesearch",
    "findbyname",
    "findfiles",
    "searchfilecontent",
    "searchfiles",
    "codebasesearch",
    "semanticsearch",
    "codesearch",
    "listcodeusages",
    "listcodedefinitionnames",
    "lsp",
    "lspdiagnostics",
    "lspreferences",
    "diagnostics",
    "geterrors",
    "getchangedfiles",
    "readimage",
    "viewimage",
    "finder",
    "findpath",
    "search",
    "searchworkspacesymbols",
    "getsearchviewresults",
    "readnotebookcelloutput",
    "getnotebooksummary",
    "copilotgetnotebooksummary",
    "readprojectstructure",
    "getprojectsetupinfo",
    "testsearch",
    "testfailure",
    "usages",
    "problems",
    "changes",
    "code",
    "fetchrules",
    "fetchinstructions",
    "readlints",
    "developertree",
    "developerlistwindows",
    "developerscreencapture",
    "developerimageprocessor",
    "developerreadimage",
    "developeranalyze",
    "screencapture",
    "repomap",
    "trajectorysearch",
    "conversationsearch",
    "recentchats",
    "readcode",
    "searchinfolder",
    "readbackgroundshell",
    "getinternaldocs",
    "computercontrollerpdftool",
    "cache",
    "computercontrollercache",
];

const WRITE_FILES: &[&str] = &[
    "write",
    "writefile",
    "writetofile",
    "edit",
    "editfile",
    "editfiles",
    "multiedit",
    "create",
    "createfile",
    "createdirectory",
    "fswrite",
    "notebookedit",
    "editnotebook",
    "editnotebookfile",
    "applypatch",
    "patch",
    "applydiff",
    "replace",
    "replaceinfile",
    "replacefilecontent",
    "multireplacefilecontent",
    "replacestringinfile",
    "multireplacestringinfile",
    "inserteditintofile",
    "insertcontent",
    "searchreplace",
    "searchandreplace",
    "strreplace",
    "strreplaceeditor",
    "strreplacebasededittool",
    "reapply",
    "undoedit",
    "move",
    "movepath",
    "movefile",
    "copypath",
    "copyfile",
    "renamefile",
    "formatfile",
    "createnewworkspace",
    "createnewjupyternotebook",
    "developertexteditor",
    "developerwrite",
    "developeredit",
    "texteditor",
    "computercontrollerdocxtool",
    "computercontrollerxlsxtool",
    "prewritecode",
    "writecode",
    "enterworktree",
    "exitworktree",
    "artifacts",
    "generateimage",
    "imagegeneration",
    "undo",
    "restorecheckpoint",
];

const SHELL: &[&str] = &[
    "bash",
    "shell",
    "sh",
    "terminal",
    "powershell",
    "runterminalcmd",
    "runterminalcommand",
    "runinterminal",
    "runshellcommand",
    "runcommand",
    "executecommand",
    "executebash",
    "execute",
    "exec",
    "execcommand",
    "localshell",
    "localshellcall",
    "containerexec",
    "shellcommand",
    "unifiedexec",
    "writestdin",
    "writebash",
    "writepowershell",
    "bashtool",
    "developershell",
    "runtask",
    "createandruntask",
    "runtests",
    "runvscodecommand",
    "runnotebookcell",
    "runcode",
    "repl",
    "python",
    "codeinterpreter",
    "analysistool",
    "jsrepl",
    "computercontrollerautomationscript",
    "automationscript",
    "preruncommand",
    "sendcommandinput",
    "runpwsh",
    "executepwsh",
    "executepython",
    "codeexecution",
    "sendterminalinput",
    "installpythonpackages",
    "installextension",
    "useterminal",
];

const BROWSER: &[&str] = &[
    "browser",
    "browseraction",
    "browserpreview",
    "opensimplebrowser",
    "computer",
    "computeruse",
    "computercontrol",
    "computercontrollercomputercontrol",
    "puppeteer",
    "openbrowserurl",
    "executebrowserjavascript",
    "browserclick",
    "browsernavigate",
    "open",
];

/// Finds what a tool of an agent is for; nothing if no agent is known to have it.
pub fn role(tool: &str) -> Option<Role> {
    let words = Words::of(tool);
    let name = words.joined();
    let found = TOOLS.iter().find(|(_, names)| names.contains(&name))?;
    Some(found.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn check(kind: Kind, operation: Operation, names: &str) {
        for name in names.split_whitespace() {
            let role = role(name).unwrap_or_else(|| panic!("{name} is not known"));
            assert_eq!(
                (role.kind(), role.operation()),
                (kind, operation),
                "{name}: {role:?}"
            );
        }
    }

    #[test]
    fn us2_3_read_is_internal_and_reads_data() {
        let class = role("Read").unwrap().class();
        assert_eq!(class.kind, Kind::Internal);
        assert!(class.can_read_data() && !class.can_exfiltrate());
    }

    #[test]
    fn us2_4_web_fetch_is_external_and_can_exfiltrate() {
        let class = role("WebFetch").unwrap().class();
        assert_eq!(class.kind, Kind::External);
        assert!(class.can_exfiltrate() && !class.can_read_data());
    }

    #[test]
    fn us2_5_bash_is_hybrid() {
        let class = role("Bash").unwrap().class();
        assert_eq!(class.kind, Kind::Hybrid);
        assert!(class.can_exfiltrate() && class.can_read_data());
    }

    #[test]
    fn fr_002_agents_tools_have_their_class_under_every_agents_name() {
        use Operation::{Destructive, Read, Write};
        check(
            Kind::Internal,
            Read,
            "Read Glob Grep LS NotebookRead read_file view_file fs_read",
        );
        check(
            Kind::Internal,
            Read,
            "search_file_content list_dir grep_search view codebase_search",
        );
        check(
            Kind::Internal,
            Write,
            "Write Edit MultiEdit NotebookEdit apply_patch write_to_file",
        );
        check(
            Kind::Internal,
            Write,
            "replace str_replace_editor insert_edit_into_file fs_write",
        );
        check(
            Kind::Internal,
            Write,
            "developer__text_editor TodoWrite update_plan save_memory",
        );
        check(Kind::Internal, Destructive, "Delete delete_file KillShell");
        check(
            Kind::Hybrid,
            Write,
            "Bash Shell run_terminal_cmd run_shell_command run_in_terminal",
        );
        check(
            Kind::Hybrid,
            Write,
            "run_command execute_bash developer__shell exec_command Execute",
        );
        check(
            Kind::Hybrid,
            Write,
            "local_shell execute_command container.exec PowerShell terminal",
        );
        check(
            Kind::Hybrid,
            Write,
            "Task Agent spawn_agent use_mcp_tool browser_action use_aws",
        );
        check(
            Kind::External,
            Read,
            "WebFetch WebSearch web_fetch google_web_search search_web",
        );
        check(
            Kind::External,
            Read,
            "fetch_webpage read_url_content FetchUrl webfetch fetch",
        );
        check(Kind::External, Write, "deploy_web_app");
    }

    #[test]
    fn others_are_not_known() {
        for name in ["frobnicate", "", "mcp__slack__post_message", "Reader"] {
            assert_eq!(role(name), None, "{name}");
        }
    }

    #[test]
    fn no_name_has_two_roles() {
        let names: Vec<_> = TOOLS.iter().flat_map(|(_, names)| *names).collect();
        let distinct: BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
        for name in names {
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
        }
    }
}
