//! What the families of a sentence make together: signs of an attack, and signs of honesty.
//!
//! A sign is a fact about a sentence, such as "somebody's keys are to be passed on". What it is
//! worth is not decided here.

use crate::hostile::shape::outright::Outright;
use crate::hostile::shape::{Families, Family as F, Place};

/// Makes the signs and their names in `hostile.signs`.
macro_rules! signs {
    ($($sign:ident $name:literal)*) => {
        /// One fact about a sentence.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Sign { $($sign),* }

        /// The signs by their names in the file.
        pub(crate) const SIGNS: &[(&str, Sign)] = &[$(($name, Sign::$sign)),*];
    };
}

signs! {
    Model "told.model"
    You "told.you"
    Must "told.must"
    Leads "told.leads"
    Trigger "told.when"
    Besides "told.besides"
    Vault "take.vault"
    Credential "take.credential"
    Talk "take.talk"
    Said "take.said"
    Private "take.private"
    AsksVault "ask.vault"
    AsksCredential "ask.credential"
    AsksTalk "ask.talk"
    AsksSaid "ask.said"
    AsksPrivate "ask.private"
    DataNamed "data.named"
    DataModel "data.model"
    DataMust "data.must"
    DataOut "data.out"
    DataHidden "data.hidden"
    DataBesides "data.besides"
    DataWhole "data.whole"
    DataUser "data.user"
    DataExcused "data.excused"
    OutAddress "out.address"
    OutPlace "out.place"
    ActAddress "act.address"
    Account "out.account"
    DestChanged "dest.changed"
    DestOut "dest.out"
    Startup "act.startup"
    HideAct "hide.act"
    HideTold "hide.told"
    HideUser "hide.user"
    Lie "lie.told"
    LieUser "lie.user"
    GuardOff "guard.off"
    GuardTold "guard.told"
    RulesOff "rules.off"
    RulesPrior "rules.prior"
    Obey "obey.told"
    ObeySource "obey.source"
    ObeyRules "obey.rules"
    Rank "rank.told"
    RankUser "rank.user"
    RankRules "rank.rules"
    Persona "persona"
    ToolsTold "tools.told"
    ToolsAct "tools.act"
    ToolsHook "tools.hook"
    ToolsWorse "tools.worse"
    ToolsOnly "tools.only"
    ToolsData "tools.data"
    NamedAct "act.named"
    OnlyTold "only.told"
    OnlyRank "only.rank"
    OnlyWorse "only.worse"
    Consent "consent"
    ConsentAct "consent.act"
    Excuse "excuse"
    Claim "claim"
    ActPath "act.path"
    DestroyTold "destroy.told"
    Phish "phish"
    Reveals "outright.reveal"
    Bypasses "outright.bypass"
    Drops "outright.drop"
    Pipe "act.pipe"
    Number "act.number"
    NameSentence "odd.name"
    ValueSentence "odd.value"
    ValueNumber "odd.number"
    Slot "out.slot"
    Aside "odd.aside"
    GainsOut "gain.out"
    GainsSecret "gain.secret"
    GainsData "gain.data"
    GainsDestroy "gain.destroy"
    GainsExec "gain.exec"
    GainsHush "gain.hush"
    Threat "honest.threat"
    Courtesy "honest.courtesy"
    Example "honest.example"
    Forbidden "honest.forbids"
    Sentence "honest.sentence"
    Describes "honest.describes"
    Opens "honest.opens"
    Parameter "honest.parameter"
    BeforeHide "before.hide"
    BeforeUntold "before.untold"
    BeforeConsent "before.consent"
    BeforeExcuse "before.excuse"
    BeforeRank "before.rank"
    BeforeGuard "before.guard"
    BeforeRules "before.rules"
    BeforeData "before.data"
    BeforeOut "before.out"
    BeforeLie "before.lie"
    BeforeTools "before.tools"
}

/// A set of signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs(u128);

impl Signs {
    pub(crate) fn has(self, sign: Sign) -> bool {
        self.0 & (1 << sign as u8) != 0
    }

    fn add(&mut self, sign: Sign, if_so: bool) {
        if if_so {
            self.0 |= 1 << sign as u8;
        }
    }
}

/// More words, or more clauses, than this are a list and not a sentence.
const LONGEST: usize = 70;
const LISTED: usize = 14;

/// Whether a sentence forbids to give way, so that whoever asks in vain is not the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Firm {
    #[default]
    No,
    /// It warns of what stands in data.
    Caution,
    /// Something is not to be put off: care if it is a check, and an attack's own step otherwise.
    Kept,
}

/// What a sentence is made of.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about one sentence"
)]
pub(crate) struct Sentence {
    pub(crate) families: Families,
    /// How many words it has.
    pub(crate) words: usize,
    /// How many clauses it has.
    pub(crate) clauses: usize,
    /// Whether it begins with an order.
    pub(crate) leads: bool,
    /// What it orders in so many words.
    pub(crate) outright: Option<Outright>,
    /// Whether it says what something does.
    pub(crate) describes: bool,
    /// Whether it checks what others say, so that what is said is no order.
    pub(crate) checks: bool,
    /// Whether it speaks of making sure of somebody.
    pub(crate) verifies: bool,
    /// Whether it forbids to give way.
    pub(crate) firm: Firm,
    /// Whether it asks for what something is called, not for the thing.
    pub(crate) refers: bool,
    /// Whether what is read is read by something else.
    pub(crate) passive: bool,
    /// Whether it tells in which order calls are made.
    pub(crate) sequence: bool,
    /// Whether what it keeps back is kept from nobody who should hear of it.
    pub(crate) fair: bool,
    /// Whether the tools that it waits for are told by what they change or say.
    pub(crate) guarded: bool,
    /// Whether it says what is recorded of a call.
    pub(crate) notice: bool,
    /// Whether it only shows what something looks like.
    pub(crate) is_specimen: bool,
    /// Whether it opens a description, where the tool's own work is told in the form of an order.
    pub(crate) opens: bool,
    pub(crate) signs: Signs,
    /// What the tool is about anyway.
    pub(crate) own: Families,
    /// Where it stands.
    pub(crate) place: Place,
    /// Whether it was added later to a text that is known.
    pub(crate) later: bool,
}

impl Sentence {
    fn has(&self, family: F) -> bool {
        self.families.has(family)
    }

    fn any(&self, families: &[F]) -> bool {
        self.families.any(families)
    }

    /// Whether the sentence speaks of something that the tool is not about.
    fn foreign(&self, family: F) -> bool {
        self.has(family) && !self.own.has(family)
    }

    /// Whether somebody is told to do something.
    fn orders(&self) -> bool {
        self.leads || self.told_model() || self.any(&[F::You, F::Must])
    }

    /// Whether the model is spoken of, other than by what the tool looks for.
    fn told_model(&self) -> bool {
        self.foreign(F::Model) && !self.looks_for()
    }

    /// Whether it is said when, or that it is to be done as well.
    fn told(&self) -> bool {
        let asks_first = self.says_what() && self.has(F::Courtesy);
        self.orders() || (self.any(&[F::Trigger, F::Besides]) && !asks_first)
    }

    /// Whether it is a first sentence that says what the tool does.
    fn says_what(&self) -> bool {
        self.opens && self.describes && !self.orders()
    }

    /// Whether it is a first sentence about what the tool finds in what others wrote: whoever is
    /// told something there is told by them.
    fn looks_for(&self) -> bool {
        let told = self.leads || self.any(&[F::You, F::Must]);
        self.opens && self.checks && self.any(&[F::Threat, F::Example]) && !told
    }

    fn moves(&self) -> bool {
        self.any(&[F::Take, F::Give, F::Send])
    }

    /// Whether data changes hands; whatever a tool is called with does.
    fn hands(&self) -> bool {
        let called = self.has(F::Run) && self.any(&[F::Name, F::Tools]);
        self.moves() || (called && self.has(F::Whole))
    }

    fn acts(&self) -> bool {
        self.any(&[F::Run, F::Edit, F::Destroy])
    }

    fn hides(&self) -> bool {
        let hidden = self.has(F::Quiet) || (self.has(F::Untold) && self.has(F::User));
        hidden && !self.fair
    }

    /// Whether something goes to somebody's address.
    fn toward(&self) -> bool {
        self.has(F::Toward) && !self.own.has(F::Address)
    }

    /// Looks for all signs, beside those of the sentence before.
    pub(crate) fn look(&mut self, before: &Self) {
        if self.is_specimen || self.words > LONGEST || self.clauses > LISTED {
            return;
        }
        let mut signs = Signs::default();
        self.doing(&mut signs);
        signs.add(Sign::Sentence, true);
        // A name or a value of two words tells nobody anything.
        if matches!(self.place, Place::Value | Place::Whole) && self.words < 3 {
            self.signs = signs;
            return;
        }
        self.who(&mut signs);
        self.data(&mut signs);
        self.ways_out(&mut signs);
        if !self.checks && !self.says_what() {
            self.hiding(&mut signs);
        }
        if !self.checks {
            self.ranking(before, &mut signs);
        }
        self.other_tools(&mut signs);
        if self.later && !self.any(&[F::Threat, F::Courtesy]) {
            self.gains(&mut signs);
        }
        self.honest(&mut signs);
        follow(before.signs, &mut signs);
        self.signs = signs;
    }

    fn who(&self, signs: &mut Signs) {
        signs.add(Sign::Model, self.told_model());
        signs.add(Sign::You, self.has(F::You));
        signs.add(Sign::Must, self.has(F::Must));
        signs.add(Sign::Leads, self.leads);
        signs.add(Sign::Trigger, self.has(F::Trigger));
        signs.add(Sign::Besides, self.has(F::Besides));
    }

    /// Data that is not the tool's, taken or passed on.
    fn data(&self, signs: &mut Signs) {
        let called =
            self.refers && !self.any(&[F::Give, F::Send]) && (self.passive || !self.moves());
        let asked = matches!(self.place, Place::Parameter | Place::Name);
        let taken = self.hands() && self.told() && !asked && !self.looks_for();
        let asked = asked && !called;
        let talk = self.foreign(F::Talk);
        let said = self.has(F::Whole) && self.has(F::Utter) && (self.hands() || asked);
        // What a tool is called to load comes in; it goes nowhere by that.
        let loads = self.has(F::Run) && self.has(F::Name) && !self.any(&[F::Give, F::Send]);
        // What is recorded of a call is told, and goes to nobody by that.
        let notice = self.notice && !self.orders() && !self.has(F::Send);
        let private = self.foreign(F::Private) && !loads && !notice;
        let kinds = [
            (self.foreign(F::Vault), Sign::Vault, Sign::AsksVault),
            (
                self.foreign(F::Credential) && !self.fair,
                Sign::Credential,
                Sign::AsksCredential,
            ),
            (talk, Sign::Talk, Sign::AsksTalk),
            (
                said && !talk && !self.own.has(F::Talk),
                Sign::Said,
                Sign::AsksSaid,
            ),
            (private, Sign::Private, Sign::AsksPrivate),
        ];
        let any = kinds.iter().any(|(there, ..)| *there);
        for (there, take, ask) in kinds {
            signs.add(take, there && taken);
            signs.add(ask, there && asked);
        }
        let moved = any && self.hands();
        let named = self.any(&[F::Name, F::Field]);
        signs.add(Sign::DataNamed, moved && named && self.told());
        signs.add(Sign::DataModel, moved && self.foreign(F::Model));
        signs.add(Sign::DataMust, moved && self.has(F::Must));
        let out = self.toward() || self.foreign(F::Outside);
        signs.add(Sign::DataOut, moved && out);
        signs.add(Sign::DataHidden, moved && self.hides());
        signs.add(Sign::DataBesides, moved && self.has(F::Besides));
        signs.add(Sign::DataWhole, moved && self.has(F::Whole));
        signs.add(Sign::DataUser, moved && self.has(F::User) && self.told());
        let excused = any && self.has(F::Excuse) && (self.moves() || asked);
        signs.add(Sign::DataExcused, excused);
        let tools = self.foreign(F::Tools) && !self.looks_for();
        signs.add(Sign::ToolsData, moved && tools);
        let secret = self.foreign(F::Credential) || self.foreign(F::Vault);
        signs.add(Sign::Phish, secret && self.has(F::Quiz));
        let reveals = self.outright == Some(Outright::Reveal);
        signs.add(Sign::Reveals, reveals && self.foreign(F::Credential));
    }

    /// Where something goes.
    fn ways_out(&self, signs: &mut Signs) {
        let sends = self.has(F::Send);
        signs.add(Sign::OutAddress, sends && self.toward());
        let place = sends && self.foreign(F::Outside) && self.told();
        signs.add(Sign::OutPlace, place);
        let address = self.foreign(F::Address) && self.acts() && self.told();
        signs.add(Sign::ActAddress, address);
        signs.add(Sign::Account, self.foreign(F::Account));
        let changed = self.foreign(F::Dest) && self.any(&[F::Edit, F::Send, F::Off]);
        signs.add(Sign::DestChanged, changed && self.told());
        let literal = self.any(&[F::Address, F::Account]);
        signs.add(Sign::DestOut, changed && literal);
        signs.add(Sign::Slot, self.has(F::Slot));
    }

    /// Silence, lies, and consent that nobody gave.
    fn hiding(&self, signs: &mut Signs) {
        let hides = self.hides();
        let does = self.moves() || self.acts();
        signs.add(Sign::HideAct, hides && does);
        signs.add(Sign::HideTold, hides && self.orders());
        signs.add(
            Sign::HideUser,
            hides && self.has(F::Untold) && self.has(F::User),
        );
        let lies = self.has(F::Lie) && !self.fair;
        signs.add(Sign::Lie, lies && self.orders());
        signs.add(Sign::LieUser, lies && self.any(&[F::User, F::Trigger]));
        let consent = self.has(F::Consent);
        signs.add(Sign::Consent, consent);
        signs.add(Sign::ConsentAct, consent && does && self.orders());
        signs.add(Sign::Excuse, self.has(F::Excuse));
        signs.add(Sign::Claim, self.has(F::Claim));
    }

    /// A text that puts itself above the user, or checks aside.
    fn ranking(&self, before: &Self, signs: &mut Signs) {
        let guard = self.has(F::GuardOff);
        signs.add(Sign::GuardOff, guard);
        signs.add(Sign::GuardTold, guard && self.orders());
        // A tool that keeps rules of its own may speak of those that lapse.
        let rules = self.has(F::RulesOff) && (self.orders() || !self.own.has(F::Rules));
        signs.add(Sign::RulesOff, rules && !self.has(F::Forbidden));
        signs.add(Sign::RulesPrior, rules && self.has(F::Prior));
        // Words that stand for checks or rules anyway have been counted.
        let bypasses = self.outright == Some(Outright::Bypass);
        signs.add(Sign::Bypasses, bypasses && !guard);
        let drops = self.outright == Some(Outright::Drop);
        signs.add(Sign::Drops, drops && !rules);
        let obeys = self.has(F::Obey);
        signs.add(Sign::Obey, obeys && self.orders());
        let source = obeys && self.has(F::Source);
        signs.add(Sign::ObeySource, source && self.orders());
        signs.add(Sign::ObeyRules, source && self.has(F::Rules));
        let firm = match self.firm {
            Firm::No => false,
            Firm::Caution => true,
            Firm::Kept => self.verifies || before.verifies,
        };
        let ranks = self.has(F::Rank) && !firm;
        let whom = self.any(&[F::User, F::You, F::Model, F::Rules]);
        signs.add(Sign::Rank, ranks && whom && self.orders());
        signs.add(Sign::RankUser, ranks && self.has(F::User));
        signs.add(Sign::RankRules, ranks && self.foreign(F::Rules));
        // `Setting debug_mode shows stack traces` says what an option does.
        let persona = self.orders() || (!self.has(F::Name) && self.words > 2);
        signs.add(Sign::Persona, self.has(F::Persona) && persona);
    }

    /// Other tools ordered about or pushed aside.
    fn other_tools(&self, signs: &mut Signs) {
        let tools = self.foreign(F::Tools) && !self.looks_for();
        let does = self.moves() || self.acts();
        signs.add(Sign::ToolsTold, tools && self.told());
        signs.add(Sign::ToolsAct, tools && self.told() && does);
        let hook = tools
            && self.has(F::Hook)
            && !self.has(F::Courtesy)
            && !self.sequence
            && (!self.guarded || self.moves())
            && self.any(&[F::Run, F::Give, F::Send, F::Edit]);
        signs.add(Sign::ToolsHook, hook);
        let worse = self.has(F::Worse) && !self.sequence;
        signs.add(Sign::ToolsWorse, tools && worse);
        signs.add(Sign::ToolsOnly, tools && self.any(&[F::Only, F::Rank]));
        signs.add(Sign::NamedAct, self.has(F::Name) && self.orders() && does);
        signs.add(Sign::OnlyTold, self.has(F::Only) && self.told());
        let named = tools || self.has(F::Name);
        let worse = named && self.has(F::Only) && self.has(F::Worse);
        signs.add(Sign::OnlyWorse, worse);
        signs.add(Sign::OnlyRank, self.has(F::Only) && self.has(F::Rank));
    }

    /// Commands, files that last, and sentences where a name or a value should stand.
    fn doing(&self, signs: &mut Signs) {
        let plants = self.foreign(F::Startup) && self.any(&[F::Edit, F::Send]);
        signs.add(Sign::Startup, plants && self.told());
        // A first sentence may tell where a tool keeps what it is about.
        let its_own = self.opens && self.describes && self.own.has(F::Vault);
        let path = self.has(F::Path) && self.acts() && self.told() && !its_own;
        signs.add(Sign::ActPath, path);
        let destroys = self.foreign(F::Destroy) && self.orders();
        signs.add(Sign::DestroyTold, destroys);
        signs.add(Sign::Pipe, self.foreign(F::Pipeline) && !self.checks);
        let number = self.has(F::Number) && (self.acts() || self.moves());
        signs.add(Sign::Number, number && !self.own.has(F::Address));
        let does = self.moves() || self.acts();
        let name = self.place == Place::Name && self.words > 3 && does;
        signs.add(Sign::NameSentence, name);
        let value = self.place == Place::Value;
        let odd = self.any(&[F::Vault, F::Talk, F::Pipeline, F::Path]);
        let long = value && self.words > 3 && does && (self.orders() || odd);
        signs.add(
            Sign::ValueSentence,
            long || (value && self.words > 1 && odd),
        );
        signs.add(Sign::ValueNumber, value && self.has(F::Number));
        signs.add(Sign::Aside, self.has(F::Aside) && self.orders());
    }

    /// What a tool does that it did not do before.
    fn gains(&self, signs: &mut Signs) {
        let out = self.any(&[F::Toward, F::Account])
            || self.foreign(F::Address)
            || self.foreign(F::Outside);
        // What is handed to somebody outside, at an address, is sent there.
        let handed = self.has(F::Give) && self.foreign(F::Outside) && self.foreign(F::Address);
        signs.add(Sign::GainsOut, out && self.has(F::Send) || handed);
        let secret = self.foreign(F::Vault) || self.foreign(F::Credential);
        signs.add(Sign::GainsSecret, secret && self.moves());
        let data = self.foreign(F::Talk) || self.foreign(F::Private);
        signs.add(Sign::GainsData, data && self.moves());
        signs.add(Sign::GainsDestroy, self.foreign(F::Destroy));
        signs.add(Sign::GainsExec, self.foreign(F::Exec));
        let hush = self.hides() || self.any(&[F::Consent, F::RulesOff, F::GuardOff]);
        signs.add(Sign::GainsHush, hush);
    }

    /// What speaks for the sentence.
    fn honest(&self, signs: &mut Signs) {
        signs.add(Sign::Threat, self.has(F::Threat));
        signs.add(Sign::Courtesy, self.has(F::Courtesy));
        signs.add(Sign::Example, self.has(F::Example));
        signs.add(Sign::Forbidden, self.has(F::Forbidden));
        let told = self.has(F::Must) || self.foreign(F::Model);
        signs.add(Sign::Describes, self.describes && !told);
        let plain = !told && !self.any(&[F::Trigger, F::You, F::Quiet]);
        signs.add(Sign::Opens, self.opens && plain);
        signs.add(Sign::Parameter, self.place == Place::Parameter);
    }
}

/// What the sentence before leaves for this one.
fn follow(before: Signs, signs: &mut Signs) {
    let carried = [
        (Sign::HideAct, Sign::BeforeHide),
        (Sign::HideUser, Sign::BeforeUntold),
        (Sign::Consent, Sign::BeforeConsent),
        (Sign::Excuse, Sign::BeforeExcuse),
        (Sign::RankUser, Sign::BeforeRank),
        (Sign::GuardOff, Sign::BeforeGuard),
        (Sign::RulesOff, Sign::BeforeRules),
        (Sign::DataMust, Sign::BeforeData),
        (Sign::DataNamed, Sign::BeforeData),
        (Sign::OutAddress, Sign::BeforeOut),
        (Sign::Lie, Sign::BeforeLie),
        (Sign::ToolsAct, Sign::BeforeTools),
    ];
    for (said, sign) in carried {
        signs.add(sign, before.has(said));
    }
}
