//! What a question asks for, beyond its words: pages that it names, links between pages, counts,
//! times. Text in, values out: these files know no index. [`ParsedQuestion`] is a question that is
//! parsed once.

pub mod chain;
pub mod forms;
pub mod named;
mod parsed_question;
pub mod relation_words;
pub mod times;
pub mod unwanted;

pub use parsed_question::ParsedQuestion;
