//! What a question asks for, beyond its words: pages that it names, links between pages, counts,
//! times. Text in, values out: these files know no index. [`ParsedQuestion`] is a question that is
//! parsed once.

pub mod attendance;
pub mod chain;
pub mod forms;
pub mod function_words;
pub mod kinds;
pub mod mentions;
pub mod named;
pub mod order_words;
pub mod ordered;
mod parsed_question;
pub mod properties;
pub mod relation_words;
pub mod tagged;
pub mod times;
pub mod unwanted;

pub use parsed_question::ParsedQuestion;
