//! Words and questions of four languages for the sets about frontmatter.

/// What a question about frontmatter asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Books of the author `V`.
    Author,
    /// The book with the title `V`, to read who wrote it.
    Title,
    /// Projects with the status `V`.
    Status,
    /// Books with the rating `V`.
    Rating,
    /// Books with the theme `V`, one of a list.
    Theme,
    /// People whose nested city is `V`.
    City,
    /// People whose nested employer is `V`.
    Employer,
    /// The clip with the description `V`.
    Description,
}
use Kind::{Author, City, Description, Employer, Rating, Status, Theme, Title};

/// The words of a language. `|` separates the items of a field.
pub(super) struct Vocabulary {
    pub(super) code: &'static str,
    /// Folders of books, projects, clips, people and days.
    pub(super) folders: [&'static str; 5],
    /// Keys: author, rating, themes, status, description, contact, city, employer.
    pub(super) keys: [&'static str; 8],
    pub(super) statuses: &'static str,
    /// Titles of books.
    pub(super) books: &'static str,
    pub(super) projects: &'static str,
    pub(super) themes: &'static str,
    pub(super) descriptions: &'static str,
    /// A sentence of a day with a name, and words that others have in their frontmatter.
    pub(super) day: &'static str,
    /// Questions: the kind, and the text with `V`.
    pub(super) forms: &'static [(Kind, &'static str)],
}

pub(super) const VOCABULARIES: [Vocabulary; 4] = [ENGLISH, GERMAN, FRENCH, SPANISH];

const ENGLISH: Vocabulary = Vocabulary {
    code: "en",
    folders: ["books", "projects", "clips", "people", "daily"],
    keys: ["author", "rating", "themes", "status", "description", "contact", "city", "employer"],
    statuses: "active|paused|finished|planned",
    books: "The Amber Ledger|Salt Roads|A Quiet Arithmetic|The Ninth Orchard|Weather for Two|\
        Paper Tigers, Paper Boats|The Cartographer's Debt|Low Tide Letters|Small Engines|\
        Winter Grammar|The Borrowed Choir|Glass Harvest|Nobody's Compass|The Slow Archive",
    projects: "Harbour Survey|Loft Conversion|Seed Library|Night Bus Map|Choir Website|\
        Bee Monitor|Tool Pool|Flood Sensors|Reading Room|Oral History|Repair Café|Bike Shelter",
    themes: "exile|inheritance|loneliness|forgery|motherhood|navigation|hunger|apprenticeship",
    descriptions: "how lichens date a glacier|a defence of boring municipal software|\
        fermenting parsnips without a cellar|the economics of lighthouse auctions|\
        why crossword setters love Latvia|mending sails with dental floss|\
        an obituary for the fax|teaching fractions by knitting|\
        the plumbing of medieval monasteries|counting owls from satellites",
    day: "The neighbour is active again and has finished the fence; we spoke about {theme}. \
        {name} called from {city}, where everything is {status} this year.",
    forms: &[
        (Author, "author: V"),
        (Author, "author:\"V\""),
        (Author, "books by V"),
        (Author, "what did V write"),
        (Author, "V author"),
        (Title, "who wrote V"),
        (Title, "Who is the author of V?"),
        (Title, "author of V"),
        (Status, "status:V"),
        (Status, "status: V"),
        (Status, "which projects are V"),
        (Status, "V projects"),
        (Status, "projects with status V"),
        (Rating, "rating: V"),
        (Rating, "rating:V"),
        (Rating, "books I rated V"),
        (Rating, "which books did I give a V?"),
        (Theme, "themes: V"),
        (Theme, "books about V"),
        (Theme, "V novel"),
        (City, "city: V"),
        (City, "who lives in V"),
        (City, "people in V"),
        (Employer, "employer: V"),
        (Employer, "who works at V?"),
        (Description, "V"),
        (Description, "the article about V"),
        (Description, "description: V"),
    ],
};

const GERMAN: Vocabulary = Vocabulary {
    code: "de",
    folders: ["buecher", "projekte", "artikel", "personen", "tage"],
    keys: ["autor", "bewertung", "themen", "status", "beschreibung", "kontakt", "ort", "firma"],
    statuses: "aktiv|pausiert|fertig|geplant",
    books: "Das Bernsteinbuch|Salzwege|Stille Rechnung|Der neunte Garten|Wetter für zwei|\
        Die Schuld des Kartografen|Briefe bei Ebbe|Kleine Motoren|Wintergrammatik|\
        Der geliehene Chor|Glasernte|Niemands Kompass",
    projects: "Hafenvermessung|Dachausbau|Samenbibliothek|Nachtbuskarte|Chorseite|\
        Bienenwaage|Werkzeugkreis|Hochwassermelder|Lesezimmer|Zeitzeugen",
    themes: "Exil|Erbschaft|Einsamkeit|Fälschung|Mutterschaft|Seefahrt|Hunger|Lehrzeit",
    descriptions: "wie Flechten einen Gletscher datieren|Lob der langweiligen Rathaussoftware|\
        Pastinaken ohne Keller einlegen|was Leuchttürme bei Auktionen kosten|\
        Segel mit Zahnseide flicken|ein Nachruf auf das Faxgerät|\
        Bruchrechnen durch Stricken|Wasserleitungen mittelalterlicher Klöster",
    day: "Der Nachbar ist wieder aktiv und mit dem Zaun fertig; wir sprachen über {theme}. \
        {name} rief aus {city} an, dort ist dieses Jahr alles {status}.",
    forms: &[
        (Author, "autor: V"),
        (Author, "Bücher von V"),
        (Author, "was hat V geschrieben"),
        (Title, "wer hat V geschrieben?"),
        (Title, "Autor von V"),
        (Status, "status:V"),
        (Status, "welche Projekte sind V"),
        (Status, "Projekte, die V sind"),
        (Rating, "bewertung: V"),
        (Rating, "Bücher, die ich mit V bewertet habe"),
        (Theme, "themen: V"),
        (Theme, "Bücher über V"),
        (City, "ort: V"),
        (City, "wer wohnt in V?"),
        (Employer, "wer arbeitet bei V"),
        (Description, "V"),
        (Description, "Artikel: V"),
    ],
};

const FRENCH: Vocabulary = Vocabulary {
    code: "fr",
    folders: ["livres", "projets", "articles", "gens", "jours"],
    keys: ["auteur", "note", "thèmes", "statut", "description", "contact", "ville", "employeur"],
    statuses: "actif|suspendu|terminé|prévu",
    books: "Le Registre d'ambre|Routes du sel|Une arithmétique calme|Le Neuvième Verger|\
        Météo pour deux|La Dette du cartographe|Lettres à marée basse|Petits Moteurs|\
        Grammaire d'hiver|Le Chœur emprunté|Moisson de verre|La Boussole de personne",
    projects: "Relevé du port|Aménagement des combles|Grainothèque|Carte des bus de nuit|\
        Site de la chorale|Balance des ruches|Outils partagés|Capteurs de crue|\
        Salle de lecture|Mémoire orale",
    themes: "exil|héritage|solitude|contrefaçon|maternité|navigation|faim|apprentissage",
    descriptions: "comment les lichens datent un glacier|éloge du logiciel municipal ennuyeux|\
        conserver les panais sans cave|le prix des phares aux enchères|\
        recoudre une voile avec du fil dentaire|nécrologie du télécopieur|\
        enseigner les fractions en tricotant|la plomberie des monastères médiévaux",
    day: "Le voisin est de nouveau actif et a terminé la clôture ; on a parlé de {theme}. \
        {name} a appelé de {city}, où tout est {status} cette année.",
    forms: &[
        (Author, "auteur : V"),
        (Author, "livres de V"),
        (Author, "qu'a écrit V ?"),
        (Title, "qui a écrit V ?"),
        (Title, "auteur de V"),
        (Status, "statut:V"),
        (Status, "projets au statut V"),
        (Status, "quel projet est V ?"),
        (Rating, "note: V"),
        (Rating, "livres auxquels j'ai mis V"),
        (Theme, "thèmes: V"),
        (Theme, "livres sur V"),
        (City, "ville: V"),
        (City, "qui habite à V ?"),
        (Employer, "qui travaille chez V"),
        (Description, "V"),
        (Description, "l'article sur V"),
    ],
};

const SPANISH: Vocabulary = Vocabulary {
    code: "es",
    folders: ["libros", "proyectos", "recortes", "gente", "diario"],
    keys: ["autor", "nota", "temas", "estado", "descripción", "contacto", "ciudad", "empresa"],
    statuses: "activo|pausado|terminado|previsto",
    books: "El registro de ámbar|Caminos de sal|Una aritmética callada|El noveno huerto|\
        Tiempo para dos|La deuda del cartógrafo|Cartas en bajamar|Motores pequeños|\
        Gramática de invierno|El coro prestado|Cosecha de vidrio|La brújula de nadie",
    projects: "Estudio del puerto|Reforma del desván|Banco de semillas|Mapa de búhos|\
        Web del coro|Báscula de colmenas|Herramientas comunes|Sensores de crecida|\
        Sala de lectura|Memoria oral",
    themes: "exilio|herencia|soledad|falsificación|maternidad|navegación|hambre|aprendizaje",
    descriptions: "cómo los líquenes datan un glaciar|elogio del software municipal aburrido|\
        conservar chirivías sin bodega|lo que cuesta un faro en subasta|\
        remendar velas con hilo dental|obituario del fax|\
        enseñar fracciones tejiendo|la fontanería de los monasterios medievales",
    day: "El vecino está activo otra vez y ha terminado la valla; hablamos de {theme}. \
        {name} llamó desde {city}, donde todo está {status} este año.",
    forms: &[
        (Author, "autor: V"),
        (Author, "libros de V"),
        (Author, "qué escribió V"),
        (Title, "¿quién escribió V?"),
        (Title, "autor de V"),
        (Status, "estado:V"),
        (Status, "proyectos con estado V"),
        (Status, "¿qué proyecto está V?"),
        (Rating, "nota: V"),
        (Rating, "libros a los que puse un V"),
        (Theme, "temas: V"),
        (Theme, "libros sobre V"),
        (City, "ciudad: V"),
        (City, "¿quién vive en V?"),
        (Employer, "quién trabaja en V"),
        (Description, "V"),
        (Description, "el artículo sobre V"),
    ],
};
