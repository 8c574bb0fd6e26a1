//! Names and sentences of the invented vault.

pub(super) const GIVEN_NAMES: [&str; 10] =
    ["Amara", "Felix", "Greta", "Hugo", "Ilse", "Jonas", "Noor", "Petra", "Tomas", "Yuki"];
pub(super) const FAMILY_NAMES: [&str; 8] =
    ["Böhm", "Castell", "Durand", "Ekberg", "Fonseca", "Lindqvist", "Okafor", "Varga"];
pub(super) const COMPANY_NAMES: [&str; 16] = [
    "Amber", "Bittern", "Curlew", "Dunlin", "Eider", "Fulmar", "Gannet", "Heron", "Kelp", "Limpet",
    "Marram", "Osprey", "Plover", "Samphire", "Tern", "Wigeon",
];
pub(super) const COMPANY_FORMS: [&str; 5] =
    ["{} Labs", "{} & Sons", "{}+", "{} Brücken", "{}: Freight"];
pub(super) const TOWNS: [&str; 6] =
    ["Grauwick", "Nordholm", "Port Ellery", "Sandhaven", "Sankt Annen", "Upper Quay"];

/// The places that concepts are about.
pub(super) const PLACES: [&str; 6] =
    ["Bakery", "Ferry", "Kiln", "Lighthouse", "Orchard", "Smokehouse"];

/// What a concept does for a place.
pub(super) struct Method {
    pub(super) title: &'static str,
    pub(super) topic: &'static str,
    pub(super) aim: &'static str,
    pub(super) practice: &'static str,
}

/// Each is a concept for each place: a concept shares its method with five others, and its place
/// with five more.
pub(super) const METHODS: [Method; 6] = [
    Method {
        title: "{} Pricing",
        topic: "prices",
        aim: "decide what each customer pays",
        practice: "A quiet morning costs less than a busy evening, and children pay half.",
    },
    Method {
        title: "{} Maintenance",
        topic: "maintenance",
        aim: "keep old equipment running",
        practice: "Parts are replaced before they break, by a list that hangs beside the door.",
    },
    Method {
        title: "{}: A Plan for Winter",
        topic: "plan for winter",
        aim: "get through the cold months",
        practice: "Wood, salt and wages are set aside in autumn, when the days are still long.",
    },
    Method {
        title: "{} Apprenticeship",
        topic: "apprenticeship",
        aim: "teach newcomers the craft",
        practice: "A newcomer watches for a week, helps for a month, and then works alone.",
    },
    Method {
        title: "{} Ledger",
        topic: "ledger",
        aim: "write down income and debts",
        practice: "Two people sign each page, and a third adds up the columns on Sundays.",
    },
    Method {
        title: "{} Safety",
        topic: "safety",
        aim: "prevent accidents and fires",
        practice: "Buckets stand full at every exit, and a drill interrupts the work each month.",
    },
];

/// Sentences that do not tell one note from another.
pub(super) const REMARKS: [&str; 10] = [
    "The first year was slow, because every customer wanted to see the work before paying.",
    "Nobody wrote the agreement down, and so it was discussed again each winter.",
    "The numbers look better than the mood: income grew, while two newcomers left.",
    "There is an open question about the equipment in the shed, which is older than the company.",
    "Both sides want a smaller plan that starts in spring, and a review before the next one.",
    "A fire at the quay delayed everything by a month, and the ledger still shows it.",
    "What we know comes from two conversations on the ferry, so it may be one-sided.",
    "The price was fair, the delivery was late, and the invoice had the wrong name on it.",
    "It is worth another visit when the orchard is in bloom and the lighthouse is open.",
    "The craft is learned by watching, as an old baker said, and not from a manual.",
];
pub(super) const EVENTS: [&str; 7] = [
    "A first conversation on the quay",
    "The contract was signed",
    "The workshop moved to a larger house",
    "A visit from the inspector, without complaints",
    "Storm; work stopped for nine days",
    "Prices were raised for the first time",
    "A long letter, and a short answer",
];
