#!/usr/bin/env bash
# LibreOffice: a hidden section of an ODT becomes ordinary text in DOCX and in plain text.
#
# Writer neither shows nor prints a section that is set to "Hide". Saved as DOCX, which has no
# sections to hide, its text is visible to everyone who opens the file. The export to plain text has
# it, too, and hidden characters besides. Both end with 0 and say nothing. The PDF is right.
. "$(dirname "$0")/common.bash"
package libreoffice-writer 4:7.4
package poppler-utils 22.12.0
package unzip 6.0
cat >"$dir/letter.fodt" <<'FODT'
<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
  xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
  xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2"
  office:mimetype="application/vnd.oasis.opendocument.text">
<office:automatic-styles><style:style style:name="T1" style:family="text"><style:text-properties
  text:display="none"/></style:style></office:automatic-styles>
<office:body><office:text><text:p>Seen. <text:span text:style-name="T1">Characters.</text:span></text:p>
<text:section text:name="S" text:display="none"><text:p>Section.</text:p></text:section>
</office:text></office:body></office:document>
FODT
# words FILE: prints which of the three texts a file has.
words() {
    grep -o 'Seen\|Characters\|Section' "$1" | xargs
}
for format in odt pdf docx txt:Text; do
    soffice "-env:UserInstallation=file://$dir/profile" --headless --convert-to "$format" \
        --outdir "$dir" "$dir/letter.fodt" >/dev/null 2>&1
done
pdftotext "$dir/letter.pdf" "$dir/pdf.txt"
# Runs of Word that are hidden have the property `vanish`.
unzip -p "$dir/letter.docx" word/document.xml | sed 's/<w:r>/\n<w:r>/g' | grep -v '<w:vanish/>' \
    >"$dir/docx.txt" || true
expect "PDF" "Seen" "$(words "$dir/pdf.txt")"
expect "DOCX" "Seen Section" "$(words "$dir/docx.txt")"
expect "plain text" "Seen Characters Section" "$(words "$dir/letter.txt")"
