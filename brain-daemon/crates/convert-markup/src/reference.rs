//! References in XML: `&amp;`, `&#8211;`.

use quick_xml::escape::resolve_xml_entity;

/// Returns the text of a reference, given without `&` and `;`.
pub(crate) fn resolve_reference(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return resolve_xml_entity(name).map(str::to_owned);
    };
    let number = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(number.ok()?).map(String::from)
}
