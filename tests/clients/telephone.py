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
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def rebuild(element, into):
    """Builds the element with the library, which rejects unknown attributes."""
    verb = {"Hangup": "hangup", "Redirect": "redirect", "Record": "record", "Gather": "gather", "Say": "say"}[element.tag]
    method = getattr(into, verb)
    known = inspect.signature(method).parameters
    given = {snake(name): value for name, value in element.attrib.items()}
    assert set(given) <= set(known), (element.tag, set(given) - set(known))
    text = [element.text] if element.text else []
    made = method(*text, **given)
    for child in element:
        rebuild(child, made)


def canonical(text):
    return ElementTree.canonicalize(text, strip_text=True)


def parse_response(answer):
    assert answer.status_code == 200, (answer.status_code, answer.text)
    assert answer.headers["content-type"].startswith("text/xml"), answer.headers
    assert float(answer.elapsed.total_seconds()) < 10
    root = ElementTree.fromstring(answer.content)
    made = VoiceResponse()
    for element in root:
        rebuild(element, made)
    assert canonical(str(made)) == canonical(answer.text), (str(made), answer.text)
    return root


def post(path, form, url=PUBLIC):
    signature = validator.compute_signature(url + path, form)
    return requests.post(BASE + path, data=form, headers={"X-Twilio-Signature": signature}, timeout=15)


def call(path, caller, **more):
    form = {"CallSid": "CA" + ("5" if caller == KNOWN else "7") * 32, "AccountSid": "AC" + "0" * 32, "From": caller, "To": "+4930901820", "Direction": "inbound"}
    return parse_response(post(path, {**form, **more}))


def says(root):
    return " ".join(element.text for element in root.iter("Say"))


begun = call("/voice", KNOWN, CallStatus="ringing")
action = begun.find("Gather").get("action")
noted = call(action, KNOWN, SpeechResult="Note that the lighthouse keeper is called Ines – ünï 👋", Confidence="0.9")
assert "Noted" in says(noted), says(noted)
found = call(noted.find("Gather").get("action"), KNOWN, SpeechResult="Who is the lighthouse keeper?", Confidence="0.9")
assert "Ines" in says(found), says(found)
silent = call(found.find("Redirect").text, KNOWN)
ended = call(silent.find("Redirect").text, KNOWN)
assert ended.find("Hangup") is not None and ended.find("Gather") is None

stranger = call("/voice", "+18005550123")
record = stranger.find("Record")
assert "Ines" not in says(stranger)
thanks = call(record.get("action"), "+18005550123", RecordingSid="RE1", RecordingUrl="https://api.twilio.com/RE1", RecordingDuration="3")
assert thanks.find("Hangup") is not None
call(record.get("transcribeCallback"), "+18005550123", RecordingSid="RE1", TranscriptionText="hello")

assert post("/voice", {"CallSid": "CA1"}, "https://evil.example").status_code == 403
port = validator.compute_signature(PUBLIC + ":443/voice", {"CallSid": "CA1"})
assert requests.post(BASE + "/voice", data={"CallSid": "CA1"}, headers={"X-Twilio-Signature": port}, timeout=15).status_code == 200
path = "/voice?CallSid=CA2&From=%2B1"
signature = validator.compute_signature(PUBLIC + path, {})
parse_response(requests.get(BASE + path, headers={"X-Twilio-Signature": signature}, timeout=15))


class Several(dict):
    """A form with repeated names, as web frameworks pass it to the library."""

    def getlist(self, name):
        return self[name] if isinstance(self[name], list) else [self[name]]


parse_response(post("/voice", Several(CallSid="CA3", A=["b", "a", "b"])))
print("twilio for Python: ok")
