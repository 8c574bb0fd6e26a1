"""Makes texts.json and reference.i16: 200 texts, and what the reference library makes of them.

    python -m venv V && V/bin/pip install sentence-transformers && V/bin/python make.py MODEL-DIRECTORY

reference.i16 has one vector of length one a text, in the order of the texts: each number times 32767, rounded, two bytes, least first.
"""

import json
import pathlib
import random
import sys

SENTENCES = """
The ferry leaves at seven and comes back when the tide lets it.
Ines wrote down what the harbour master said about the new quay.
Revenue grew by 12.5 % in the third quarter, to 4.2 million euros.
He could not remember where he had put the keys to the boat shed.
We agreed to move the meeting from Tuesday to Thursday at 14:30.
The patient was given 250 mg of amoxicillin three times a day.
A transformer computes attention over all pairs of tokens.
Photosynthesis turns light, water and carbon dioxide into sugar.
She invested in two small companies that make batteries out of sand.
The old bridge was closed after the storm of 1953 and never opened again.
Could you send me the contract before noon, please?
Nobody in the village had seen a kingfisher for thirty years.
`cargo test --workspace` fails with "linker `cc` not found".
The recipe asks for 300 g of flour, two eggs and a pinch of salt.
Their dog barks at the postman, at bicycles and at the moon.
An index that is derived from the store can be thrown away.
The committee could not agree on a date, so it agreed on nothing.
What is the difference between a lake and a reservoir?
On 2024-02-29 the cron job ran twice because of a bug in the calendar.
Maria works at the hospital in Graz and plays the cello at night.
Sales fell, profits rose, and the chairman said that he was pleased.
To restore a backup, stop the daemon first and keep the old file.
The court held that the clause was void for want of clarity.
Solar panels on the barn make more power than the farm needs.
I dreamt that the library was under water and the books were fish.
The train to Trieste is late again; take the bus from platform 4.
Bees dance to tell one another where the flowers are.
His thesis is about the grammar of a language that five people speak.
Restart the router, wait a minute, and try the address again.
Gold was found in the river, and within a year the river was gone.
She is the one who introduced Tom to the people who bought his firm.
If the cache is cold, the first query takes about forty milliseconds.
The museum has the largest collection of door handles in Europe.
Vaccination rates dropped for the third year in a row.
A good knife, kept sharp, is safer than a cheap one.
The moon moves away from the earth by almost four centimetres a year.
""".strip().split("\n")

SHORT = """
hello
who works at the hospital?
boat
what did we decide about the meeting
Trieste
how do I restore a backup
batteries sand investment
?
42
a
the of and
README.md
error E0502
who invested in the battery company
kingfisher sightings near the old bridge 1953
antidisestablishmentarianism
ALL CAPITAL LETTERS AND NOTHING ELSE
don't won't can't it's o'clock
snake_case camelCase kebab-case SCREAMING_CASE
ines@example.org
https://example.org/a/very/long/path?with=a&query=string#and-a-fragment
+43 316 123456
3.14159265358979
<b>bold</b> &amp; <i>italic</i>
- [ ] call the plumber
| a | b | c |
""".strip().split("\n")

OTHER = r"""
Die Fähre fährt um sieben und kommt zurück, wenn die Flut es zulässt.
Où est la bibliothèque la plus proche de la gare ?
El perro ladra al cartero, a las bicicletas y a la luna.
Größe, Straße, Übermut und Œuvre: naïve façade, São Tomé, Dvořák.
Мы договорились перенести встречу со вторника на четверг.
会議は火曜日から木曜日に変更されました。
我们同意把会议从星期二改到星期四。
회의를 화요일에서 목요일로 옮기기로 했습니다.
اتفقنا على نقل الاجتماع من الثلاثاء إلى الخميس.
הסכמנו להעביר את הפגישה מיום שלישי ליום חמישי.
เราตกลงย้ายการประชุมจากวันอังคารเป็นวันพฤหัสบดี
हमने बैठक को मंगलवार से गुरुवार करने का फैसला किया।
Συμφωνήσαμε να μεταφέρουμε τη συνάντηση την Πέμπτη.
Chúng tôi đồng ý dời cuộc họp từ thứ Ba sang thứ Năm.
🚢🌊 the boat left 👩‍👩‍👧‍👦 with the family 🎉
e\u0301 and é are the same letter, written in two ways
ﬁne ﬂour and ½ a cup of Ⅻ ㎏
tabs\tand\nnew lines\r\nand\u00a0hard spaces\u200band nothing
a\u0000b\u0007c control characters
“Curly quotes” — dashes – and … dots
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
[CLS] [SEP] [MASK] [PAD] written out
""".strip().split("\n")


def texts():
    chance = random.Random(8)
    # A line above is one text, with its escapes read.
    made = SHORT + [each.encode("raw_unicode_escape").decode("unicode_escape") if "\\" in each else each for each in OTHER]
    made = made + SENTENCES
    # One window of a page each, as the daemon cuts them: title, headings, some sentences. From a few tokens to more than count.
    for many in list(range(1, 13)) * 7:
        title = " ".join(chance.choice(SENTENCES).split()[:3]).strip(".,;")
        made.append(f"{title} > Notes. " + " ".join(chance.sample(SENTENCES, many)))
    while len(made) < 200:
        made.append(" ".join(chance.sample(SENTENCES, chance.choice([2, 3, 4, 30]))))
    assert len(made) == 200 and len(set(made)) == 200, (len(made), len(set(made)))
    return made


def main():
    import numpy
    from sentence_transformers import SentenceTransformer

    here = pathlib.Path(__file__).parent
    made = texts()
    model = SentenceTransformer(sys.argv[1], device="cpu")
    vectors = model.encode(made, normalize_embeddings=True, batch_size=16)
    (here / "texts.json").write_text(json.dumps(made, ensure_ascii=False, indent=0) + "\n")
    (here / "reference.i16").write_bytes(numpy.round(vectors * 32767).astype("<i2").tobytes())
    tokens = [len(model.tokenizer(each)["input_ids"]) for each in made]
    print(f"{len(made)} texts, {min(tokens)} to {max(tokens)} tokens, {sum(n > 256 for n in tokens)} of them cut at 256")


main()
