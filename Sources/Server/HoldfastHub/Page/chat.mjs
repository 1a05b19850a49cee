// The chat: the sign-in form, a room, and the wiring between the client and the page.

import { Conversation } from "./conversation.mjs";
import { Door } from "./door.mjs";
import { subjectOf } from "./identity.mjs";
import { element, avatar, MessageList, shownName } from "./messages.mjs";
import { check } from "./protocol.mjs";
import { OutboxError, RoomsClient } from "./rooms.mjs";
import { Place, rescue } from "./tabs.mjs";

const byID = (id) => document.getElementById(id);
const pageSize = 50;
/** How long an error message is shown. */
const troubleLasts = 6_000;
/** How long before the expiry of the token the user is asked for a new one. */
const tokenWarning = 60_000;
const list = new MessageList(byID("messages"), {
    react: ({ seq, key }) => react(seq, key),
    edit: ({ seq }) => beginEdit(seq),
    delete: ({ seq }) => client.send(room, { type: "holdfast.delete", about: { kind: "delete", seq }, body: {} }).catch(complain),
    retry: ({ id }) => client.retry(room, id).catch(complain),
    discard: ({ id }) => client.discard(room, id).catch(complain),
});

let client = null;
let conversation = null;
let room = "";
/** The user that the outbox belongs to. */
let owner = "";
let token = "";
let isLoading = false;
let isAtEnd = true;
let editing = 0;
let unseen = 0;
let mustDraw = false;
let storageTrouble = "";
let trouble = { text: "", until: 0 };

// Signing in.

const door = new Door(enter);
door.begin();

async function enter({ name, room: wanted, token: given }) {
    const user = subjectOf(given) ?? name;
    if (client !== null) return signInAgain(user, given);
    const wrong = check(wanted);
    if (wrong !== undefined) throw new Error(wrong);
    [owner, room, token] = [user, wanted, given];
    const url = new URL("rooms", location.href);
    [url.protocol, url.hash] = [location.protocol === "https:" ? "wss:" : "ws:", ""];
    const connect = (store) => new RoomsClient({ url: url.href, token: () => token || `dev:${name}`, store });
    const place = await Place.take(user);
    const entering = connect(place.store);
    conversation = new Conversation(user);
    listen(entering);
    try {
        await entering.start();
    } catch (error) {
        place.release();
        throw error;
    }
    client = entering;
    globalThis.rooms = { client, conversation, place, get room() { return room; } };
    storageTrouble = place.isDurable ? "" : "This browser stores nothing for this page: unsent messages are lost when you close it.";
    setInterval(tellConnection, 500);
    rescue(user, place, { connect, adopt: (messages) => client.adopt(messages), isUp: () => client.state === "welcomed" });
    await show();
    await client.join(room, { last: pageSize });
}

/** Keeps the outbox, which belongs to the user that the token names. */
function signInAgain(user, given) {
    if (user !== owner) throw new Error(`This token is for ${shownName(user)}. Your unsent messages belong to ${shownName(owner)}.`);
    token = given;
    view("chat");
    client.renew();
}

function askForToken() {
    view("door");
    door.again(() => view("chat"));
}

function view(name) {
    byID("door").hidden = name !== "door";
    byID("chat").hidden = name !== "chat";
    document.body.dataset.view = name;
    // Not on touch screens: an on-screen keyboard would open.
    if (name === "chat" && matchMedia("(hover: hover)").matches) byID("words").focus();
}

async function show() {
    view("chat");
    byID("room-name").textContent = room;
    document.title = `${room} – Holdfast rooms`;
    const { seq = 0 } = client.room(room) ?? {};
    if (seq > 0) {
        // If the entries cannot be loaded now, the user can load them later.
        conversation.first = seq + 1;
        const { items } = await client.earlier(room, seq + 1, pageSize).catch(() => ({ items: [] }));
        conversation.take(items);
    }
    tellAll();
}

function listen(client) {
    const here = (work) => ({ detail }) => detail.room === room && work(detail);
    client.addEventListener("connection", () => {
        if (client.welcome !== null) conversation.user = client.welcome.user;
        tellConnection();
    });
    client.addEventListener("room", here(tellAll));
    client.addEventListener("entries", here(({ items }) => arrived(items)));
    client.addEventListener("replaced", here(({ items }) => {
        conversation.clear();
        arrived(items);
    }));
    client.addEventListener("outbox", here(draw));
    client.addEventListener("stored", here((news) => {
        conversation.stored(news);
        draw();
    }));
    client.addEventListener("reads", here(draw));
    client.addEventListener("members", here(tellMembers));
    client.addEventListener("typing", here(tellTyping));
    client.addEventListener("trouble", ({ detail }) => complain(new Error(detail.text)));
}

// Messages.

function arrived(items) {
    conversation.take(items);
    const others = items.filter((item) => item.user !== conversation.user && item.type === "chat.text");
    if (others.length > 0 && client.room(room)?.isLive) {
        const { user: speaker, body } = others.at(-1);
        byID("announcer").textContent = others.length > 2 ? `${others.length} new messages` : `${shownName(speaker)}: ${body?.text ?? ""}`;
        if (document.hidden || !isAtEnd) unseen += others.length;
    }
    tellTyping();
    draw();
}

/** Draws at most once per frame; a hidden page has no frames. */
function draw() {
    if (mustDraw) return;
    mustDraw = true;
    const soon = document.hidden ? (work) => setTimeout(work, 50) : requestAnimationFrame;
    soon(drawNow);
}

function drawNow() {
    mustDraw = false;
    const scroll = byID("scroll");
    if (isAtEnd && !isLoading) conversation.trim();
    const messages = conversation.views(client.room(room));
    list.draw(messages, Date.now());
    byID("empty").hidden = messages.length > 0 || !client.room(room)?.isLive;
    const { first, reachesBeginning } = conversation;
    byID("earlier").hidden = reachesBeginning || first === Infinity;
    byID("beginning").hidden = !reachesBeginning || messages.length === 0;
    if (isAtEnd) scroll.scrollTop = scroll.scrollHeight;
    byID("newest").hidden = isAtEnd;
    byID("newest-text").textContent = unseen > 0 ? `${unseen} new` : "Newest";
    document.title = `${unseen > 0 ? `(${unseen}) ` : ""}${room} – Holdfast rooms`;
    tellRead();
}

function tellRead() {
    const state = client.room(room);
    if (document.hidden || !isAtEnd || state === undefined || !state.isLive) return;
    if (unseen > 0) {
        unseen = 0;
        draw();
    }
    client.read(room, state.seq);
}

async function loadEarlier() {
    if (isLoading || conversation.reachesBeginning || conversation.first === Infinity) return;
    isLoading = true;
    const scroll = byID("scroll");
    try {
        const { items, isFirst } = await client.earlier(room, conversation.first, pageSize);
        const [height, top] = [scroll.scrollHeight, scroll.scrollTop];
        conversation.take(items);
        conversation.reachesBeginning ||= isFirst;
        isAtEnd = false;
        drawNow();
        scroll.scrollTop = top + scroll.scrollHeight - height;
    } catch {
        // Without a connection, nothing can be loaded; the button stays.
    }
    isLoading = false;
}

byID("scroll").addEventListener("scroll", () => {
    const { scrollTop, scrollHeight, clientHeight } = byID("scroll");
    const wasAtEnd = isAtEnd;
    isAtEnd = scrollHeight - clientHeight - scrollTop < 40;
    if (isAtEnd !== wasAtEnd) draw();
    if (scrollTop < 120 && scrollHeight > clientHeight) loadEarlier();
}, { passive: true });
byID("earlier").addEventListener("click", loadEarlier);
byID("newest").addEventListener("click", () => {
    isAtEnd = true;
    drawNow();
    byID("words").focus();
});
// When a keyboard opens or the window changes, the end of the list stays visible.
new ResizeObserver(() => {
    if (isAtEnd && client !== null) byID("scroll").scrollTop = byID("scroll").scrollHeight;
}).observe(byID("scroll"));

// Sending messages.

const words = byID("words");
words.addEventListener("input", () => {
    fit();
    client.typing(room, words.value.trim() !== "");
});
words.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        say();
    } else if (event.key === "Escape" && editing !== 0) endEdit();
    else if (event.key === "ArrowUp" && words.value === "") {
        const { user, timeline } = conversation;
        const last = timeline.ordered.findLast((shown) => shown.user === user && !shown.isDeleted && shown.text !== null);
        if (last !== undefined) {
            event.preventDefault();
            beginEdit(last.seq);
        }
    }
});
byID("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    say();
});
byID("stop-editing").addEventListener("click", endEdit);

/** Clears the field only when the message is in the outbox. */
async function say() {
    const text = words.value.trim();
    if (text === "" || client === null) return;
    const message = editing === 0 ? { type: "chat.text", body: { text } }
        : { type: "holdfast.edit", about: { kind: "edit", seq: editing }, body: { text } };
    words.value = "";
    const wasEditing = editing;
    if (wasEditing !== 0) endEdit();
    else isAtEnd = true;
    fit();
    client.typing(room, false);
    try {
        await client.send(room, message);
    } catch (error) {
        if (wasEditing !== 0 && editing === 0 && words.value === "") {
            beginEdit(wasEditing);
            words.value = text;
        } else words.value = text + (words.value === "" ? "" : `\n${words.value}`);
        fit();
        complain(error);
    }
}

function fit() {
    words.style.height = "auto";
    words.style.height = `${words.scrollHeight + 2}px`;
}

function beginEdit(seq) {
    const shown = conversation.timeline.messages.get(seq);
    if (shown === undefined || shown.text === null) return;
    editing = seq;
    words.value = shown.text;
    byID("editing").hidden = false;
    fit();
    words.focus();
}

function endEdit() {
    editing = 0;
    words.value = "";
    byID("editing").hidden = true;
    fit();
    words.focus();
}

function react(seq, key) {
    const view = conversation.views(client.room(room)).find((message) => message.seq === seq);
    const on = !view?.reactions?.some((reaction) => reaction.key === key && reaction.mine);
    client.send(room, { type: "holdfast.react", about: { kind: "react", seq }, body: { key, on } }).catch(complain);
}

function complain(error) {
    const text = error instanceof OutboxError ? error.message : `Something went wrong: ${error.message}`;
    trouble = { text, until: Date.now() + troubleLasts };
    tellConnection();
}

// The people present, and the state of the connection.

function tellAll() {
    const state = client.room(room);
    const readOnly = state?.isLive === true && !state.rights.includes("w");
    words.disabled = readOnly;
    words.placeholder = readOnly ? "You may only read here" : "Message";
    tellConnection();
    tellMembers();
    tellTyping();
    draw();
}

function write(id, text) {
    if (byID(id).textContent !== text) byID(id).textContent = text;
}

function tellConnection() {
    if (client === null) return;
    const state = client.room(room);
    const isLive = state?.isLive === true;
    const name = client.state === "welcomed" ? (isLive ? "live" : "joining") : client.state;
    const wait = Math.max(0, Math.ceil((client.nextAttempt - Date.now()) / 1000));
    const texts = {
        live: "live", joining: state?.phase === "catchingUp" ? "catching up" : "joining", connecting: "connecting", offline: "offline",
        lost: wait > 1 ? `reconnecting in ${wait} s` : "reconnecting", replaced: "in use elsewhere", refused: "refused",
    };
    byID("link").dataset.state = name;
    document.body.dataset.state = name;
    write("link-text", texts[name]);
    const { roundTrip } = client;
    write("round-trip", isLive && roundTrip !== null ? `${roundTrip < 1 ? "<1" : Math.round(roundTrip)} ms` : "");
    byID("round-trip").title = "Round trip to the hub and back";
    byID("cut").disabled = client.state !== "welcomed";
    byID("offline").setAttribute("aria-pressed", client.state === "offline");
    write("offline", client.state === "offline" ? "Go online" : "Go offline");
    const waiting = (state?.outbox ?? []).filter(({ state }) => state === "queued").length;
    const kept = waiting === 1 ? "1 message waits to be sent." : `${waiting} messages wait to be sent.`;
    write("room-text", isLive ? "" : waiting > 0 ? kept : "");
    tellTrouble(state);
}

/** Shows the most urgent problem to the user. */
function tellTrouble(state) {
    const isExpired = client.refusal?.code === 2002;
    const why = client.refusal?.text ?? "it gives no reason";
    const [way, go] = token === "" ? ["Back", leave] : ["Sign in again", askForToken];
    if (Date.now() < trouble.until) banner(trouble.text);
    else if (state?.phase === "refused") banner(`The hub refuses access to this room. ${state.refusal?.text ?? ""}`);
    else if (client.state === "refused" && isExpired) banner("Your token has expired. Your unsent messages are kept.", way, go);
    else if (client.state === "refused") banner(`The hub refuses access: ${why}`, way, go);
    else if (client.state === "replaced") banner("Another page now uses this session.", "Use it here", () => client.online());
    else if (client.tokenEnds - Date.now() < tokenWarning) banner("Your token expires soon.", way, go);
    else banner(storageTrouble);
}

function banner(text, label, work) {
    const place = byID("banner");
    place.hidden = text === "";
    if (place.dataset.text === text) return;
    place.dataset.text = text;
    place.replaceChildren(text);
    if (label === undefined) return;
    const button = element("button", { type: "button", text: label });
    button.addEventListener("click", work);
    place.append(button);
}

function tellMembers() {
    const state = client.room(room);
    if (state === undefined) return;
    const { users, total } = state.attendance;
    const isKnown = state.isLive || users.length > 0;
    write("people-count", `${isKnown ? Math.max(users.length, 1) : 0}`);
    write("people-total", total > users.length ? `${users.length}, ${total} connections` : `${users.length}`);
    byID("members").replaceChildren(...users.map(({ user: name, status, connections }) => {
        const notes = [name === conversation.user && "you", status !== "online" && status, connections > 1 && `${connections} connections`];
        return element("li", { "data-user": name, "data-status": status }, avatar(name), element("b", { text: shownName(name) }),
            element("small", { text: notes.filter(Boolean).join(", ") }));
    }));
}

function tellTyping() {
    const typing = (client.room(room)?.typing ?? []).map(shownName);
    const text = typing.length === 0 ? "" : typing.length === 1 ? `${typing[0]} is typing…`
        : typing.length < 4 ? `${typing.join(", ")} are typing…` : "Several people are typing…";
    write("typing", text);
}

async function leave() {
    await client.leave(room);
    await client.close();
    history.replaceState(null, "", location.pathname);
    location.reload();
}

byID("cut").addEventListener("click", () => client.cut());
byID("offline").addEventListener("click", () => (client.state === "offline" ? client.online() : client.offline()));
byID("leave").addEventListener("click", leave);
byID("show-people").addEventListener("click", () => {
    const isOpen = byID("people").classList.toggle("is-open");
    byID("show-people").setAttribute("aria-expanded", isOpen);
});
addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !byID("people").classList.contains("is-open")) return;
    byID("show-people").click();
    byID("show-people").focus();
});
addEventListener("online", () => client?.hurry());
addEventListener("offline", () => client?.hurry());
document.addEventListener("visibilitychange", () => {
    if (client === null) return;
    client.presence(room, document.hidden ? "away" : "online");
    if (document.hidden) return;
    client.hurry();
    tellRead();
    draw();
});
