//! What a question asks for, beyond its words: pages that it names, links between pages, counts,
//! times. Text in, values out: these files know no index.

pub mod chain;
pub mod forms;
pub mod named;
pub mod relation_words;
pub mod times;
