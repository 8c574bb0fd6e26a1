//! What a person filled into the form of an ODT. It is not in the text, but in the form's elements.

use std::collections::HashMap;

use crate::xml::{Element, Xml};

/// Returns what each field shows, by its id: its value, or its box and label.
pub(super) fn read(xml: &Xml) -> HashMap<String, String> {
    let all = xml.find("office:forms").into_iter().flat_map(Element::descendants);
    let fields = all.filter_map(|field| {
        let id = field.attribute("form:id").or_else(|| field.attribute("xml:id"))?;
        Some((id.to_owned(), shown(field)?))
    });
    fields.filter(|(_, shown)| !shown.is_empty()).collect()
}

/// Returns what a field shows. Passwords, buttons and hidden values are left out.
fn shown(field: Element<'_>) -> Option<String> {
    let value = |name: &str| field.attribute(name).unwrap_or_default().to_owned();
    let checked = |is_on: bool| {
        let sign = if is_on { '☑' } else { '☐' };
        format!("{sign} {}", value("form:label")).trim_end().to_owned()
    };
    Some(match field.local_name() {
        "checkbox" => {
            let state = field.attribute("form:current-state").or(field.attribute("form:state"));
            checked(state == Some("checked"))
        }
        "radio" => {
            let state = field.attribute("form:current-selected");
            checked(state.or(field.attribute("form:selected")) == Some("true"))
        }
        "listbox" => {
            let options = field.children().filter(|option| option.local_name() == "option");
            let is_on = |option: &Element<'_>| {
                let state = option.attribute("form:current-selected");
                state.or(option.attribute("form:selected")) == Some("true")
            };
            let labels = options.filter(is_on).filter_map(|option| option.attribute("form:label"));
            labels.collect::<Vec<_>>().join(", ")
        }
        "text" | "textarea" | "formatted-text" | "combobox" | "number" | "date" | "time" => {
            let current = field.attribute("form:current-value");
            current.or(field.attribute("form:value")).unwrap_or_default().to_owned()
        }
        _ => return None,
    })
}
