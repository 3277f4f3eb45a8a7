//! Where a text comes from, which decides how much an order in it means.

/// The place of a text in the protocol.
///
/// A descriptor says what a tool does, so nearly any other order in it is out of place. A result is
/// somebody's data, in which orders to people are ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A tool's names, descriptions and schemas.
    Descriptor,
    /// What an upstream says about itself when a session opens.
    Instructions,
    /// A prompt, or a message that an upstream wants sampled.
    Prompt,
    /// What a tool or a resource returned.
    Result,
    /// An error's text.
    Error,
    /// What the model sends to a tool.
    Arguments,
}

impl Audience {
    /// Whether the text is written for the model by whoever made the upstream, and should
    /// therefore hold nothing that a reviewer cannot see.
    pub fn is_authored(self) -> bool {
        match self {
            Self::Descriptor | Self::Instructions | Self::Prompt => true,
            Self::Result | Self::Error | Self::Arguments => false,
        }
    }
}
