//! What families in one sentence, beside those of the sentence before, amount to.

use crate::hostile::shape::{Families, Family as F, Place};

/// What a sentence is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sentence {
    pub(crate) families: Families,
    /// How many words it has.
    pub(crate) words: usize,
    /// Whether it begins with an order.
    pub(crate) leads: bool,
    /// What the tool is about anyway.
    own: Families,
    place: Place,
    /// Whether it stands apart from the honest text.
    aside: bool,
}

impl Sentence {
    pub(crate) fn new(own: Families, place: Place, aside: bool) -> Self {
        Self {
            own,
            place,
            aside,
            ..Self::default()
        }
    }

    fn has(&self, family: F) -> bool {
        self.families.has(family)
    }

    /// Whether the sentence speaks of something that the tool is not about.
    fn foreign(&self, family: F) -> bool {
        self.has(family) && !self.own.has(family)
    }

    /// Whether somebody is told to do something.
    fn orders(&self) -> bool {
        self.leads
            || self
                .families
                .any(&[F::Mood, F::You, F::Model, F::Quiet, F::Consent])
    }

    /// Whether it names where to, other than the tool's own business.
    fn way_out(&self) -> bool {
        self.toward() || self.foreign(F::Channel)
    }

    /// Whether something goes to somebody's address or account.
    fn toward(&self) -> bool {
        (self.has(F::Toward) && !self.own.has(F::Address)) || self.foreign(F::Account)
    }
}

/// Names each act and its weight.
pub(crate) fn judge(before: &Sentence, read: &Sentence, found: &mut impl FnMut(&'static str, u8)) {
    if read.has(F::Threat) {
        return;
    }
    let near = before.families.and(read.families);
    let mut sum = 0;
    let mut weigh = |id, weight: u8| {
        sum += u32::from(weight);
        found(id, weight);
    };
    if !read.has(F::Courtesy) {
        taking(read, &mut weigh);
    }
    offering(read, &mut weigh);
    hiding(read, near, &mut weigh);
    outranking(read, near, &mut weigh);
    changing(read, &mut weigh);
    if sum >= SUSPECT && kinds(before, read) >= MANY {
        found("pressure.together", 40);
    }
}

/// The weight from which it is counted how many kinds of evidence stand together.
const SUSPECT: u32 = 45;

/// So many kinds of evidence at once are no accident.
const MANY: usize = 4;

/// How many kinds of evidence two neighbouring sentences have: who is told, what to do, with whose
/// data, where to, how it is hidden, and what is given as the reason.
fn kinds(before: &Sentence, read: &Sentence) -> usize {
    let near = before.families.and(read.families);
    let foreign = |family| before.foreign(family) || read.foreign(family);
    let told = near.any(&[F::Model, F::You, F::Strong]) || before.leads || read.leads;
    let does = near.any(&[F::Move, F::Act, F::Edit, F::Swap]);
    let data = [
        F::Vault,
        F::Credential,
        F::Talk,
        F::Private,
        F::Startup,
        F::Target,
    ];
    let out = before.way_out() || read.way_out() || near.any(&[F::Slot, F::Pipeline]);
    let hidden = near.any(&[F::Quiet, F::Sense, F::Omit, F::Consent, F::Lie]) || read.aside;
    let excused = near.has(F::Excuse);
    let kinds = [
        told,
        does,
        data.into_iter().any(foreign),
        out,
        hidden,
        excused,
    ];
    kinds.into_iter().filter(|kind| *kind).count()
}

/// Data that is not the tool's, taken or passed on.
fn taking(read: &Sentence, found: &mut impl FnMut(&'static str, u8)) {
    let moved = read.has(F::Move);
    let told = if read.families.any(&[F::Strong, F::You, F::Model]) {
        10
    } else {
        0
    };
    let more = if read.aside { 20 } else { 0 } + if read.has(F::Model) { 10 } else { 0 };
    let talk = match (read.has(F::Whole), read.place) {
        (true, _) => 80,
        (false, Place::Parameter) => 50,
        (false, _) => 45,
    };
    let data = [
        (F::Vault, "credential.vault", 80),
        (F::Credential, "credential.foreign", 45),
        (F::Talk, "smuggle.foreign", talk),
        (F::Private, "credential.private", 40),
    ];
    let mut taken = false;
    for (family, id, weight) in data {
        // A tool's own key is asked for in a parameter of its own; that is no news.
        let asked = match family {
            F::Talk | F::Vault => {
                read.place == Place::Parameter || (read.place == Place::Name && moved)
            }
            _ => false,
        };
        if (asked || (moved && read.orders())) && read.foreign(family) {
            found(id, weight + more + told);
            taken = true;
        }
    }
    if read.toward() && moved && read.orders() {
        found(
            "exfiltrate.foreign",
            if taken { 50 } else { 35 } + more + told,
        );
    } else if read.foreign(F::Channel) && moved && taken {
        found("exfiltrate.channel", 35 + more);
    }
    if read.has(F::Account) && !read.has(F::Example) && read.place == Place::Whole {
        found("exfiltrate.account", 50);
    }
    if read.has(F::Slot) {
        found(
            "exfiltrate.slot",
            if moved && read.orders() { 90 } else { 60 },
        );
    }
}

/// Sentences and commands where a name or a value should stand.
fn offering(read: &Sentence, found: &mut impl FnMut(&'static str, u8)) {
    let does = read.families.any(&[F::Move, F::Act]);
    if read.place == Place::Name && read.words > 3 && does {
        found("smuggle.name", 70);
    }
    if read.place == Place::Value && read.has(F::Number) {
        found("exfiltrate.default", 55);
    }
    if read.place == Place::Value && read.words > 1 && read.has(F::Vault) {
        found("smuggle.value", 70);
    }
    if read.place != Place::Value || read.words < 4 {
        return;
    }
    let data = read
        .families
        .any(&[F::Vault, F::Credential, F::Talk, F::Private]);
    if does && (data || read.has(F::Command)) {
        found("smuggle.value", 70);
    } else if read.leads && read.has(F::Move) && read.has(F::Act) {
        found("smuggle.value", 50);
    }
}

/// Silence, and consent that nobody gave.
fn hiding(read: &Sentence, near: Families, found: &mut impl FnMut(&'static str, u8)) {
    let does = near.any(&[F::Move, F::Act, F::Edit]);
    let told = read.families.any(&[F::User, F::You, F::Model]);
    let hush = read.has(F::Hush) && read.families.any(&[F::Move, F::Act, F::Edit]);
    // The same demand as the acts of these names, said in whatever way: it counts once.
    let id = if read.has(F::Hush) {
        "secrecy.covert"
    } else {
        "secrecy.tell"
    };
    if (read.has(F::Quiet) && does && told) || (hush && read.has(F::Whole)) {
        found(id, 55);
    } else if read.has(F::Quiet) && does {
        found(id, 40);
    }
    if read.has(F::Quiz) && (read.foreign(F::Credential) || read.foreign(F::Vault)) {
        found("phish.shape", 55);
    }
    if read.has(F::Sense) && read.has(F::User) && (does || read.orders()) {
        found("secrecy.sense", 50);
    }
    if read.has(F::Omit) && told && read.has(F::Reply) {
        found("secrecy.omit", 55);
    }
    if read.has(F::Consent) && does {
        found("bypass.without", 50);
    }
    if read.has(F::Checks) && read.families.any(&[F::Off, F::Omit]) {
        found("bypass.lifted", 50);
    }
}

/// A text that puts itself above the user, or its tool above the others.
fn outranking(read: &Sentence, near: Families, found: &mut impl FnMut(&'static str, u8)) {
    let told = near.any(&[F::User, F::You, F::Model]);
    if read.has(F::Rank) && told {
        found("override.rank_shape", 55);
    }
    if read.has(F::Directive) && read.has(F::Obey) && read.families.any(&[F::Source, F::Pose]) {
        found("override.data", if read.has(F::Pose) { 60 } else { 40 });
    }
    if read.has(F::Obey) && read.has(F::Pose) && read.families.any(&[F::User, F::You]) {
        found("override.pose", 55);
    }
    if read.has(F::Lie) && read.has(F::Settled) {
        found("preference.lie", 50);
    }
    let ever = read.has(F::Every) && read.has(F::Turn) && read.has(F::Calls);
    if ever && read.families.any(&[F::Strong, F::Model]) {
        found("crosstool.any", 45);
    }
    if read.has(F::Model) && read.has(F::Choose) && read.families.any(&[F::Rival, F::Only]) {
        found("preference.choose", 50);
    }
    let rival = read.has(F::Rival);
    if rival && read.has(F::Worse) && read.has(F::Only) {
        found("preference.shape", 55);
    } else if rival && (read.has(F::Worse) || read.has(F::Only)) {
        found("preference.shape", if read.has(F::Worse) { 50 } else { 35 });
    }
}

/// Values swapped, files planted, commands run.
fn changing(read: &Sentence, found: &mut impl FnMut(&'static str, u8)) {
    if read.has(F::Swap) && (read.foreign(F::Target) || read.foreign(F::Account)) && read.way_out()
    {
        found("shadow.shape", if read.toward() { 90 } else { 60 });
    } else if read.has(F::Swap)
        && read.foreign(F::Target)
        && read.families.any(&[F::Channel, F::Rival])
    {
        found("shadow.shape", 45);
    }
    if read.foreign(F::Startup) && read.families.any(&[F::Edit, F::Act]) && read.orders() {
        let armed = read
            .families
            .any(&[F::Command, F::Address, F::Model, F::Consent, F::Quiet]);
        found("tamper.shape", if armed { 90 } else { 55 });
    }
    if read.has(F::Pipeline) && !read.own.has(F::Command) {
        found("command.pipe", if read.orders() { 50 } else { 40 });
    }
    if read.foreign(F::Command) && read.has(F::Number) {
        found("command.number", 60);
    } else if read.foreign(F::Command) && read.families.any(&[F::Act, F::Edit]) && read.orders() {
        found(
            "command.shape",
            if read.foreign(F::Address) { 55 } else { 35 },
        );
    }
}
