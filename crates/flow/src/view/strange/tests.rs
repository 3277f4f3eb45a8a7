//! What is strange and what is not.

use super::*;

fn check(text: &str, expect: bool) {
    assert_eq!(!find(text, &[]).is_empty(), expect, "{text}");
}

#[test]
fn the_table_is_whole() {
    let rows: Vec<usize> = PAIRS.lines().map(str::len).collect();
    assert_eq!(rows, vec![usize::from(OTHER) + 1; usize::from(OTHER) + 1]);
    assert!(
        PAIRS
            .lines()
            .all(|line| line.bytes().all(|byte| byte >= ZERO))
    );
}

#[test]
fn what_people_and_programs_write_is_not_strange() {
    for text in [
        "Could you move the call to Thursday? The train from Ghent is late again.",
        "Könnten Sie den Termin auf Donnerstag verschieben? Die Züge fahren heute unregelmäßig.",
        "Nie wiem, czy zdążymy przed świętami, ale spróbujemy wysłać wszystko w środę.",
        "Haluaisin siirtää kokouksen torstaille, koska juna on taas myöhässä.",
        "Перенесём созвон на четверг, поезд опять опаздывает.",
        "木曜日に会議を移してもらえますか。電車がまた遅れています。",
        "let total: u64 = rows.iter().filter(|row| row.open).map(|row| row.cents).sum();",
        "curl -fsSL https://example.org/install.sh | sh -s -- --prefix=/opt/tool --yes",
        "{\"limit\": 50, \"offset\": 100, \"sort\": \"created_at:desc\", \"fields\": [\"id\", \"name\"]}",
        "2026-03-04T09:15:22Z INFO worker{id=7}: drained 1204 jobs in 3.2s (p99 41ms)",
        "The fix is in 9fceb02d0ae598e95dc970b74767f19372d61af8, thanks!",
        "request 0b7c9a52-41d3-4e0a-9c7e-3f5a1c2d8e90 failed twice",
        "|  name  |  price |\n|--------|-------:|\n|  bolt  |   0.12 |\n|  nut   |   0.08 |",
        "Done ✅ and shipped 🎉🎉🎉 — see you tomorrow 👋",
        "=======================================================",
        "SELECT count(*) FROM orders o JOIN items i ON i.order_id = o.id WHERE o.state <> 'new'",
    ] {
        check(text, false);
    }
}

#[test]
fn what_nobody_can_read_is_strange() {
    for text in [
        "status: qX7vPz1KfYw0Rr8mTcJ2",
        "Gur dhvpx oebja sbk whzcf bire gur ynml qbt naq gura fbzr",
        "Wdv jqgns fkzr bw tpe xqvl mnch dzpr, vko ptxg bnzw qerl.",
        "1T1h1e1 1n1i1g1h1t1 1s1h1i1f1t1 1m1o1v1e1s",
        "🐔🐱🐵🐶🐺🐻🐼🐽🐾🐿",
        "9KTVPZ:%EJC-X4*A:U$2/GQ8N+L0",
        "tHe qUIcK reLEAsE oF tHE nEw WeBsITe wEnT weLL AnD EVerYbOdy Is hAPpy wItH iT",
        // Every byte has its highest bit set, which a hash has not.
        "a09b8c9a8dfe8c9a91d09e93939a8ddf",
    ] {
        check(text, true);
    }
}

#[test]
fn what_was_read_otherwise_is_passed_over() {
    let text = "status: qX7vPz1KfYw0Rr8mTcJ2 and more";
    let span = Range { start: 8, end: 28 };
    assert!(find(text, &[span]).is_empty());
    let found = find(text, &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0].start >= 7 && found[0].end <= 29, "{found:?}");
}
