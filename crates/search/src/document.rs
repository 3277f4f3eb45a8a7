//! What is indexed: a tool as a document of weighted fields. How the words of a field are told
//! apart is in `split`, how they count is in `rank`.

/// A tool as its upstream describes it.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    /// Name by which the upstream calls the tool.
    pub name: &'a str,
    /// Title for people.
    pub title: Option<&'a str>,
    /// Description for agents.
    pub description: Option<&'a str>,
    /// Names of the parameters, with their descriptions.
    pub parameters: Vec<(&'a str, Option<&'a str>)>,
}

/// A part of a tool in which words are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// The name of the tool.
    Name,
    /// The name of its upstream.
    Upstream,
    /// Its title.
    Title,
    /// Its description.
    Description,
    /// The name of a parameter.
    Parameter,
    /// The description of a parameter.
    ParameterDescription,
}

/// How many fields there are.
pub(crate) const FIELDS: usize = 6;

/// One value for each field, in the order of [`Field::ALL`].
pub(crate) type PerField<T> = [T; FIELDS];

impl Field {
    /// Lists the fields, the weightiest of equals first.
    pub const ALL: [Self; FIELDS] = [
        Self::Name,
        Self::Upstream,
        Self::Title,
        Self::Description,
        Self::Parameter,
        Self::ParameterDescription,
    ];

    /// Says how much a word in this field is worth beside one in the description.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Name | Self::Upstream => 3.0,
            Self::Title => 2.0,
            Self::Description => 1.0,
            Self::Parameter => 0.5,
            Self::ParameterDescription => 0.4,
        }
    }

    /// Says how strongly a long text takes weight from its words: 0 not at all, 1 in proportion.
    pub(crate) fn length_penalty(self) -> f64 {
        match self {
            Self::Name | Self::Title => 0.5,
            Self::Upstream => 0.0,
            Self::Description | Self::Parameter | Self::ParameterDescription => 0.4,
        }
    }

    /// Says how many words of this field are indexed. With `split::MAX_WORD_CHARACTERS` it bounds
    /// the memory that one tool can claim, whatever its upstream sends.
    pub(crate) fn max_words(self) -> usize {
        match self {
            Self::Name | Self::Title => 32,
            Self::Upstream => 16,
            Self::Description | Self::ParameterDescription => 200,
            Self::Parameter => 100,
        }
    }
}
