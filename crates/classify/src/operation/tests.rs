//! What tools do, by name, by hint and by parameter.

use std::borrow::Cow;

use Method::{Annotation, Heuristic};
use Operation::{Destructive, Read, Write};

use super::*;

fn named(operation: Option<Operation>, names: &str) {
    for name in names.split_whitespace() {
        let found = by_name(&Words::of(name));
        assert_eq!(
            found.map(|verb| verb.operation),
            operation,
            "{name}: {found:?}"
        );
    }
}

#[test]
fn the_words_of_the_specification_are_the_floor() {
    named(
        Some(Destructive),
        "delete remove drop destroy purge terminate kill",
    );
    named(
        Some(Write),
        "create update post send upload push write insert",
    );
    named(Some(Read), "get read fetch query search list find view");
}

#[test]
fn names_say_what_tools_do() {
    named(
        Some(Destructive),
        "delete_file deleteFile files.delete bulk_delete_users removeMember drop_table kill-process
         kubectl_delete git_rm wipe_disk truncateTable revoke_token search_and_delete deletefile
         user_remove DELETE_ALL overwrite_file reset_database empty_trash API-delete-a-block
         get_or_delete get_and_delete list_delete snapshot_delete clear_cookies delete_status
         find_then_remove ｄｅｌｅｔｅ_file de\u{200B}lete_it userdelete",
    );
    named(
        Some(Write),
        "create_issue post_message slack_post_message send-email uploadFile push_files
         write_file add_comment set_config merge_pull_request get_or_create find_and_replace
         browser_click execute_sql run_command createissue publish_post share_file check_and_update
         addUser move_file searchReplace undelete_x_update",
    );
    named(
        Some(Read),
        "get_file list_issues read_file search_code fetch_url query find_user view_page
         list_posts get_updates get_comments list_deleted_items get_removed_users show_commits
         describe_table getfile listusers get_post list_push_subscriptions count_messages
         download_file is_deleted get_message_log batch_get_items bulk_read get_delete_policy
         can_delete get_drop_off_locations get_uninstall_instructions get_kill_switch_status getDropRate get_revoke_list",
    );
    named(
        None,
        "foo weather postgres dropdown sender killer deleted creator 42 _ hello
         console_messages kubectl_logs",
    );
}

#[test]
fn a_verb_in_doubt_is_less_sure() {
    let percent = |name: &str| by_name(&Words::of(name)).unwrap().percent;
    assert!(percent("reset_view") < percent("delete_view"));
    assert!(percent("list_delete_options") < percent("delete_options"));
}

#[test]
fn what_a_tool_that_reads_reads_about_is_not_what_it_does() {
    let check = |names: &str, read_only, expect: Operation| {
        for name in names.split_whitespace() {
            let tool = Tool {
                annotations: hints(read_only, None),
                ..Tool::named(name)
            };
            let found = operation(&tool, &mut Vec::new());
            assert_eq!(found.operation, Some(expect), "{name}: {}", found.reason);
        }
    };
    let about = "list_kill_chains list_purge_jobs search_drop_points query_drop_dates
        list_delete snapshot_delete check_delete_permission preview_delete";
    check(about, Some(true), Read);
    // Nobody says so, and a list or a snapshot can be deleted.
    check(about, None, Destructive);
    let destroys =
        "get_and_delete list_and_purge delete_status post_delete delete_list user_remove";
    check(destroys, Some(true), Destructive);
    let both = Tool {
        annotations: hints(Some(true), Some(true)),
        ..Tool::named("list_delete")
    };
    let found = operation(&both, &mut Vec::new());
    assert_eq!(found.operation, Some(Destructive));
}

fn hints(read_only: Option<bool>, destructive: Option<bool>) -> Annotations {
    Annotations {
        read_only,
        destructive,
        open_world: None,
    }
}

#[test]
fn the_strictest_believable_source_decides() {
    let check =
        |name: &'static str, annotations, expect: Option<Operation>, method, said: usize| {
            let tool = Tool {
                annotations,
                ..Tool::named(name)
            };
            let mut signals = Vec::new();
            let found = operation(&tool, &mut signals);
            assert_eq!(
                (found.operation, found.method),
                (expect, method),
                "{name}: {}",
                found.reason
            );
            assert_eq!(signals.len(), said, "{name}");
        };
    check(
        "delete_file",
        hints(Some(true), None),
        Some(Destructive),
        Heuristic,
        2,
    );
    check(
        "send_mail",
        hints(Some(true), None),
        Some(Write),
        Heuristic,
        2,
    );
    check(
        "get_file",
        hints(None, Some(true)),
        Some(Destructive),
        Annotation,
        2,
    );
    check(
        "get_file",
        hints(Some(false), Some(false)),
        Some(Write),
        Annotation,
        2,
    );
    check("foo", hints(Some(true), None), Some(Read), Annotation, 1);
    check("foo", hints(Some(false), None), Some(Write), Annotation, 1);
    check(
        "foo",
        hints(Some(true), Some(true)),
        Some(Destructive),
        Annotation,
        1,
    );
    check("foo", hints(None, None), None, Heuristic, 0);
    check(
        "get_file",
        hints(Some(true), None),
        Some(Read),
        Heuristic,
        2,
    );
}

#[test]
fn agreement_makes_surer_and_dispute_less_sure() {
    let percent = |annotations| {
        let tool = Tool {
            annotations,
            ..Tool::named("delete_file")
        };
        operation(&tool, &mut Vec::new()).confidence.as_percent()
    };
    let alone = percent(hints(None, None));
    assert!(percent(hints(None, Some(true))) > alone);
    assert!(percent(hints(Some(true), None)) < alone);
}

#[test]
fn what_nobody_can_tell_counts_as_writing() {
    let found = operation(&Tool::named("foo"), &mut Vec::new());
    assert_eq!((found.operation, found.assumed()), (None, Write));
}

#[test]
fn parameters_speak_where_the_name_does_not() {
    let check = |tool: &'static str, name: &'static str, values: &[&'static str], expect| {
        let values = values.iter().map(|value| Cow::Borrowed(*value)).collect();
        let parameter = Parameter {
            name: Cow::Borrowed(name),
            values,
            is_address: false,
            purpose: crate::purpose::purpose(&Words::of(name)),
        };
        let tool = Tool {
            parameters: vec![parameter],
            ..Tool::named(tool)
        };
        let mut signals = Vec::new();
        let found = operation(&tool, &mut signals);
        assert_eq!(
            (found.operation, signals.last().map(|signal| signal.says)),
            expect,
            "{name}"
        );
    };
    let says = |operation| Some(Says::Operation(operation));
    check(
        "entity",
        "action",
        &["list", "delete"],
        (Some(Destructive), says(Destructive)),
    );
    check(
        "entity",
        "http_method",
        &["GET", "POST"],
        (Some(Write), says(Write)),
    );
    check(
        "entity",
        "action",
        &["list", "get"],
        (Some(Read), says(Read)),
    );
    check("entity", "body", &[], (Some(Write), says(Write)));
    check("entity", "colour", &["delete"], (None, None));
    check(
        "entity",
        "forcePush",
        &[],
        (Some(Destructive), says(Destructive)),
    );
    // The name is believed, the parameter is handed on.
    check(
        "list_dir",
        "recursive",
        &[],
        (Some(Read), says(Destructive)),
    );
    check("get_thing", "deleted_at", &[], (Some(Read), says(Read)));
}
