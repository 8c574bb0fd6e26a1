#!/usr/bin/env bash
# RedNotebook: the width of a picture becomes a part of the name of a link before it.
#
# `[""weir"".png?300]` shows a picture 300 pixels wide. If a link is in the same line before it, the
# link is called `WIDTH300-…` in the preview and in all exports, and the picture has no width: the
# rule that moves the width to the front of the brackets begins at the first bracket of the line.
. "$(dirname "$0")/common.bash"
package rednotebook 2.29.3

# convert LINE: prints how the preview shows a line of a day.
convert() {
    /usr/bin/python3 - "$1" <<'PYTHON'
import gettext, re, sys
sys.path.insert(0, "/usr/share/rednotebook")
gettext.install("rednotebook")
from rednotebook.util import markup
html = markup.convert(sys.argv[1], "xhtml", "/nowhere")
line = next(line for line in html.split("\n") if "weir.png" in line)
name = re.findall(r'<a href="[^"]*">([^<]*)</a>', line)
width = re.findall(r'width="(\d+)"', line)
print("link:", *(name or ["none"]), "width:", *(width or ["none"]))
PYTHON
}
picture='[""/tmp/weir"".png?300]'
link='[plan ""https://weirs.example/""]'
expect "picture" "link: none width: 300" "$(convert "$picture")"
expect "picture, then link" "link: plan width: 300" "$(convert "$picture and $link")"
expect "link, then picture" "link: WIDTH300-plan width: none" "$(convert "$link and $picture")"
