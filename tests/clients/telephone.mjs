// Tests /voice with Twilio's library for Node, which signs forms, and URLs with the hash of a JSON
// body.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import twilio from "twilio";

const { VOICE, VOICE_PUBLIC, VOICE_TOKEN } = process.env;
const form = { CallSid: "CA" + "6".repeat(32), From: "+18005550123", SpeechResult: "こんにちは 👋" };

async function send(path, options, signature) {
    const headers = { ...options.headers, "X-Twilio-Signature": signature };
    return fetch(VOICE + path, { ...options, headers });
}

const formOptions = { method: "POST", body: new URLSearchParams(form) };
const signature = twilio.getExpectedTwilioSignature(VOICE_TOKEN, `${VOICE_PUBLIC}/voice`, form);
assert(twilio.validateRequest(VOICE_TOKEN, signature, `${VOICE_PUBLIC}/voice`, form));
const answer = await send("/voice", formOptions, signature);
assert.equal(answer.status, 200);
assert.match(await answer.text(), /^<\?xml .*<Response><Say .*<Record /s);
const forged = twilio.getExpectedTwilioSignature("other", `${VOICE_PUBLIC}/voice`, form);
assert.equal((await send("/voice", formOptions, forged)).status, 403);

const body = JSON.stringify({ a: 1 });
const bodyHash = crypto.createHash("sha256").update(body).digest("hex");
const path = `/voice/status?CallSid=CA1&bodySHA256=${bodyHash}`;
const jsonOptions = { method: "POST", body, headers: { "Content-Type": "application/json" } };
const jsonSignature = twilio.getExpectedTwilioSignature(VOICE_TOKEN, VOICE_PUBLIC + path, {});
assert(twilio.validateRequestWithBody(VOICE_TOKEN, jsonSignature, VOICE_PUBLIC + path, body));
assert.equal((await send(path, jsonOptions, jsonSignature)).status, 200);
assert.equal((await send(path, { ...jsonOptions, body: '{"a":2}' }, jsonSignature)).status, 403);
console.log("twilio for Node: ok");
