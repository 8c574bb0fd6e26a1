//! The sections of the configuration. Each key is declared once, by the macro `section!`.

/// Declares a section: its struct, and how it is read. A key has a name, a type, a rule, the text
/// of its default and a description.
macro_rules! section {
    (
        $(#[$attribute:meta])*
        $struct:ident [$section:ident]
        $($name:ident: $type:ty = $rule:expr, $default:literal, $description:literal;)*
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone)]
        #[allow(rustdoc::bare_urls)]
        pub struct $struct {
            $(#[doc = $description] pub $name: $type,)*
        }

        impl $struct {
            /// Reads the keys in their order.
            pub(crate) fn read(
                loader: &mut $crate::loader::Loader<'_>,
            ) -> Result<Self, brain_protocol::Fault> {
                Ok(Self {
                    $($name: loader.read(
                        &$crate::ConfigKey {
                            section: stringify!($section),
                            name: stringify!($name),
                            default: $default,
                            description: $description,
                        },
                        &$rule,
                    )?,)*
                })
            }
        }
    };
}

pub(crate) mod collector;
pub(crate) mod daemon;
pub(crate) mod http;
pub(crate) mod models;
pub(crate) mod tunnel;
