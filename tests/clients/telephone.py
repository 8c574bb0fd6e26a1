"""Tests /voice with Twilio's library: signatures, verbs, attributes and markup."""

import inspect
import os
import xml.etree.ElementTree as ElementTree

import requests
from twilio.request_validator import RequestValidator
from twilio.twiml.voice_response import VoiceResponse

BASE, PUBLIC, TOKEN = os.environ["VOICE"], os.environ["VOICE_PUBLIC"], os.environ["VOICE_TOKEN"]
KNOWN = os.environ["VOICE_CALLER"]
validator = RequestValidator(TOKEN)


def snake(name):
    """Returns a name in camel case as snake case."""
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def rebuild(element, parent):
    """Adds the element to `parent` with the library; fails on unknown verbs and attributes."""
    assert element.tag in ("Hangup", "Redirect", "Record", "Gather", "Say"), element.tag
    method = getattr(parent, element.tag.lower())
    known = inspect.signature(method).parameters
    attributes = {snake(name): value for name, value in element.attrib.items()}
    assert set(attributes) <= set(known), (element.tag, set(attributes) - set(known))
    text = [element.text] if element.text else []
    copy = method(*text, **attributes)
    for child in element:
        rebuild(child, copy)


def canonical(text):
    return ElementTree.canonicalize(text, strip_text=True)


def parse_response(answer):
    """Asserts that the library can build the same markup, and returns its root element."""
    assert answer.status_code == 200, (answer.status_code, answer.text)
    assert answer.headers["content-type"].startswith("text/xml"), answer.headers
    assert float(answer.elapsed.total_seconds()) < 10
    root = ElementTree.fromstring(answer.content)
    copy = VoiceResponse()
    for element in root:
        rebuild(element, copy)
    assert canonical(str(copy)) == canonical(answer.text), (str(copy), answer.text)
    return root


def post(path, form, url=PUBLIC):
    """Posts a form with the signature for `url` and `path`."""
    signature = validator.compute_signature(url + path, form)
    headers = {"X-Twilio-Signature": signature}
    return requests.post(BASE + path, data=form, headers=headers, timeout=15)


def call(path, caller, **more):
    form = {
        "CallSid": "CA" + ("5" if caller == KNOWN else "7") * 32,
        "AccountSid": "AC" + "0" * 32,
        "From": caller,
        "To": "+4930901820",
        "Direction": "inbound",
    }
    return parse_response(post(path, {**form, **more}))


def spoken_text(root):
    return " ".join(element.text for element in root.iter("Say"))


greeting = call("/voice", KNOWN, CallStatus="ringing")
action = greeting.find("Gather").get("action")
note = "Note that the lighthouse keeper is called Ines – ünï 👋"
confirmation = call(action, KNOWN, SpeechResult=note, Confidence="0.9")
assert "Noted" in spoken_text(confirmation), spoken_text(confirmation)
action = confirmation.find("Gather").get("action")
reply = call(action, KNOWN, SpeechResult="Who is the lighthouse keeper?", Confidence="0.9")
assert "Ines" in spoken_text(reply), spoken_text(reply)
after_silence = call(reply.find("Redirect").text, KNOWN)
goodbye = call(after_silence.find("Redirect").text, KNOWN)
assert goodbye.find("Hangup") is not None and goodbye.find("Gather") is None

STRANGER = "+18005550123"
stranger_greeting = call("/voice", STRANGER)
record = stranger_greeting.find("Record")
assert "Ines" not in spoken_text(stranger_greeting)
thanks = call(
    record.get("action"),
    STRANGER,
    RecordingSid="RE1",
    RecordingUrl="https://api.twilio.com/RE1",
    RecordingDuration="3",
)
assert thanks.find("Hangup") is not None
call(record.get("transcribeCallback"), STRANGER, RecordingSid="RE1", TranscriptionText="hello")

assert post("/voice", {"CallSid": "CA1"}, "https://evil.example").status_code == 403
# The provider may sign the URL with the default port.
form = {"CallSid": "CA1"}
headers = {"X-Twilio-Signature": validator.compute_signature(PUBLIC + ":443/voice", form)}
assert requests.post(BASE + "/voice", data=form, headers=headers, timeout=15).status_code == 200
path = "/voice?CallSid=CA2&From=%2B1"
signature = validator.compute_signature(PUBLIC + path, {})
parse_response(requests.get(BASE + path, headers={"X-Twilio-Signature": signature}, timeout=15))


class RepeatedForm(dict):
    """A form with repeated names, as web frameworks pass it to the library."""

    def getlist(self, name):
        return self[name] if isinstance(self[name], list) else [self[name]]


parse_response(post("/voice", RepeatedForm(CallSid="CA3", A=["b", "a", "b"])))
print("twilio for Python: ok")
