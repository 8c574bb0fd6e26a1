#!/usr/bin/env bash
# pdftotext: Arabic words with lam and alef are spelled wrongly, where one glyph stands for both.
#
# Fonts have a glyph for the two letters. LibreOffice and Chromium note in the file that it stands
# for both, in the order of reading. pdftotext turns the characters of a line from right to left one
# by one, also those two: "السلام" (peace) becomes "السالم" (the safe one), and the Arabic words for
# "no" and "except" become others as well. A search in the text does not find the word.
. "$(dirname "$0")/common.bash"
package poppler-utils 22.12.0
package libreoffice-writer 4:7.4
package fonts-dejavu-core 2.37
printf '<meta charset="utf-8"><p dir="rtl" lang="ar" style="font-family:DejaVu Sans">%s</p>' \
    'السلام إلا نعم' >"$dir/page.html"
for kind in odt pdf; do
    soffice "-env:UserInstallation=file://$dir/profile" --headless --convert-to "$kind" \
        --outdir "$dir" "$dir/page.${from:-html}" >/dev/null 2>&1
    from=$kind
done
expect "words" "السالم إال نعم" "$(pdftotext "$dir/page.pdf" - | python3 -c '
import re, sys
print(re.sub("[\u200e\u200f\u202a-\u202e\f]", "", sys.stdin.read()).strip())')"
