//! Compound commands: conditions, loops, cases, tests and functions.

use std::rc::Rc;

use super::super::facts::Reason;
use super::super::syntax::{Command, Item, Kind, Script};
use super::{Parsed, Parser};

impl Parser<'_> {
    pub(super) fn conditional(&mut self) -> Parsed<Kind> {
        self.at += 2;
        let mut scripts = vec![self.script()?];
        self.expect_keyword("then")?;
        scripts.push(self.script()?);
        loop {
            if self.eat_keyword("elif") {
                scripts.push(self.script()?);
                self.expect_keyword("then")?;
            } else if !self.eat_keyword("else") {
                self.expect_keyword("fi")?;
                return Ok(Kind::Branches(scripts));
            }
            scripts.push(self.script()?);
        }
    }

    pub(super) fn while_loop(&mut self, word: &str) -> Parsed<Kind> {
        self.at += word.len();
        let condition = self.script()?;
        Ok(Kind::Loop(vec![condition, self.body()?]))
    }

    pub(super) fn body(&mut self) -> Parsed<Script> {
        self.expect_keyword("do")?;
        let body = self.script()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    pub(super) fn for_loop(&mut self, word: &str) -> Parsed<Kind> {
        self.at += word.len();
        self.blanks();
        if self.rest().starts_with("((")
            && let Some(end) = self.arithmetic_end(2)
        {
            self.at += 2;
            let word = self.quoted_to(end)?;
            self.at = end + 2;
            self.blanks();
            self.eat(";");
            let body = self.body()?;
            return Ok(Kind::For {
                name: "_".into(),
                words: vec![word],
                body,
            });
        }
        let name = self.name();
        self.lines()?;
        let mut words = Vec::new();
        if self.eat_keyword("in") {
            self.blanks();
            while let Some(word) = self.word()? {
                words.push(word);
                self.blanks();
            }
        } else {
            words.push(super::super::word::parameter("@"));
        }
        self.blanks();
        self.eat(";");
        let body = self.body()?;
        Ok(Kind::For { name, words, body })
    }

    pub(super) fn case(&mut self) -> Parsed<Kind> {
        self.at += 4;
        self.blanks();
        let subject = self.word()?.ok_or_else(|| self.fault(Reason::Syntax))?;
        self.expect_keyword("in")?;
        let mut arms = vec![Script {
            items: vec![Item {
                conditional: false,
                commands: vec![Command {
                    kind: Kind::Test(vec![subject]),
                    redirects: Vec::new(),
                    span: self.at..self.at,
                }],
            }],
        }];
        loop {
            self.lines()?;
            if self.eat_keyword("esac") {
                return Ok(Kind::Branches(arms));
            }
            self.eat("(");
            loop {
                self.blanks();
                self.word()?.ok_or_else(|| self.fault(Reason::Syntax))?;
                self.blanks();
                if !self.eat("|") {
                    break;
                }
            }
            self.expect(")")?;
            arms.push(self.script()?);
            if self.eat(";") {
                while self.eat(";") || self.eat("&") {}
            }
        }
    }

    pub(super) fn test(&mut self) -> Parsed<Kind> {
        self.at += 2;
        let mut words = Vec::new();
        loop {
            self.lines()?;
            if self.eat_keyword("]]") {
                return Ok(Kind::Test(words));
            }
            match self.word()? {
                Some(word) => words.push(word),
                None if self.at >= self.text.len() => return Err(self.fault(Reason::Unclosed)),
                // An operator of the test: `&&`, `<`, a bracket of a pattern.
                None => self.at += 1,
            }
        }
    }

    pub(super) fn function(&mut self, name: String) -> Parsed<Kind> {
        self.lines()?;
        let body = Rc::new(self.command()?);
        Ok(Kind::Function { name, body })
    }
}
