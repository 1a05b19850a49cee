// The chat: a door, a room, and the wiring between the client and what is shown.

import { element, avatar, MessageList } from "./messages.mjs";
import { OutboxError, RoomsClient } from "./rooms.mjs";
import { Place, rescue } from "./tabs.mjs";
import { reactionsOf, Timeline } from "./timeline.mjs";

const byID = (id) => document.getElementById(id);
const pageSize = 50;
const timeline = new Timeline();
/** Messages of ours that were acked, and whose entries have not come yet. */
const acked = new Map();
const list = new MessageList(byID("messages"), {
    react: ({ seq, key }) => react(seq, key),
    edit: ({ seq }) => beginEdit(seq),
    delete: ({ seq }) => client.send(room, { type: "holdfast.delete", about: { kind: "delete", seq }, body: {} }).catch(complain),
    retry: ({ id }) => client.retry(room, id).catch(complain),
    discard: ({ id }) => client.discard(room, id).catch(complain),
});

let client = null;
let room = "";
let user = "";
let first = Infinity;
let isLoading = false;
let reachedBeginning = false;
let isAtEnd = true;
let editing = 0;
let unseen = 0;
let mustDraw = false;
let storageTrouble = "";

// The door.

const wishes = new URLSearchParams(location.hash.slice(1));
byID("name").value = wishes.get("name") ?? localStorage.getItem("holdfast name") ?? "";
byID("room").value = wishes.get("room") ?? localStorage.getItem("holdfast room") ?? "lobby";
byID("join").addEventListener("submit", (event) => {
    event.preventDefault();
    enter(byID("name").value.trim(), byID("room").value.trim(), byID("token").value.trim());
});
if (wishes.has("name") && wishes.has("room")) enter(byID("name").value.trim(), byID("room").value.trim(), wishes.get("token") ?? "");
else byID(byID("name").value === "" ? "name" : "room").focus();

async function enter(name, wanted, token) {
    if (name === "" || wanted === "") return;
    byID("door-error").textContent = "";
    [user, room] = [token === "" ? name : subjectOf(token) ?? name, wanted];
    localStorage.setItem("holdfast name", name);
    localStorage.setItem("holdfast room", room);
    // A reload leads back here; a token is not written into the address.
    if (token === "") history.replaceState(null, "", `#${new URLSearchParams({ room, name })}`);
    const url = new URL("rooms", location.href);
    [url.protocol, url.hash] = [location.protocol === "https:" ? "wss:" : "ws:", ""];
    const connect = (store) => new RoomsClient({ url: url.href, token: () => token || `dev:${name}`, store });
    const place = await Place.take(user);
    client = connect(place.store);
    globalThis.rooms = { client, timeline, place, get room() { return room; } };
    storageTrouble = place.isDurable ? "" : "This browser keeps nothing for this page: what waits to be sent is lost when you close it.";
    listen();
    await client.start();
    rescue(user, place, connect);
    show();
    await client.join(room, { last: pageSize });
}

/** Who a token is for, as far as it says; the hub alone judges it. */
function subjectOf(token) {
    try {
        return JSON.parse(atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"))).sub;
    } catch {
        return undefined;
    }
}

async function show() {
    byID("door").hidden = true;
    byID("chat").hidden = false;
    document.body.dataset.view = "chat";
    byID("room-name").textContent = room;
    document.title = `${room} – Holdfast rooms`;
    // A keyboard on a screen comes when it is asked for.
    if (matchMedia("(hover: hover)").matches) byID("words").focus();
    const stored = client.room(room);
    if (stored !== undefined && stored.seq > 0) {
        const { items } = await client.earlier(room, stored.seq + 1, pageSize);
        take(items);
    }
    tellAll();
}

function listen() {
    const here = (work) => ({ detail }) => detail.room === room && work(detail);
    client.addEventListener("connection", tellConnection);
    client.addEventListener("room", here(tellAll));
    client.addEventListener("entries", here(({ items }) => arrived(items)));
    client.addEventListener("replaced", here(({ items }) => {
        timeline.clear();
        [first, reachedBeginning] = [Infinity, false];
        arrived(items);
    }));
    client.addEventListener("outbox", here(draw));
    client.addEventListener("stored", here(({ id, seq, row }) => {
        if (row?.type === "chat.text" && ![...timeline.messages.values()].some((shown) => shown.id === id)) acked.set(id, { ...row, seq });
        draw();
    }));
    client.addEventListener("reads", here(draw));
    client.addEventListener("members", here(tellMembers));
    client.addEventListener("typing", here(tellTyping));
    client.addEventListener("trouble", ({ detail }) => complain(new Error(detail.text)));
    setInterval(tellConnection, 500);
}

// Messages.

function take(items) {
    if (items.length === 0) return;
    timeline.add(items);
    first = Math.min(first, items[0].seq);
    if (first <= 1) reachedBeginning = true;
    for (const { id } of items) acked.delete(id);
}

function arrived(items) {
    take(items);
    const others = items.filter((item) => item.user !== user && item.type === "chat.text");
    if (others.length > 0 && client.room(room)?.isLive) {
        const { user: speaker, body } = others.at(-1);
        byID("announcer").textContent = others.length > 2 ? `${others.length} new messages` : `${speaker}: ${body?.text ?? ""}`;
        if (document.hidden || !isAtEnd) unseen += others.length;
    }
    tellTyping();
    draw();
}

/** What is shown of everything: entries, then what is acked but not here yet, then what waits, then what failed. */
function views() {
    const state = client.room(room);
    const waiting = state?.outbox ?? [];
    const about = groupBySeq(waiting);
    const readers = [...(state?.markers ?? [])].filter(([reader]) => reader !== user).sort(([a], [b]) => (a < b ? -1 : 1));
    const isAdmin = state?.rights.includes("a") ?? false;
    const placed = timeline.ordered.map((shown) => {
        const own = shown.user === user;
        const seenBy = own ? readers.filter(([, seq]) => seq >= shown.seq).map(([reader]) => reader) : [];
        const view = {
            id: shown.id, seq: shown.seq, user: shown.user, at: shown.at, text: shown.text, type: shown.type, own, seenBy,
            mayChange: own || isAdmin, stage: own ? (seenBy.length > 0 ? "seen" : "stored") : undefined,
            isDeleted: shown.isDeleted, isEdited: shown.editedBy > 0,
            reactions: reactionsOf(shown).map(([key, users]) => ({ key, users, mine: users.includes(user) })),
        };
        for (const row of about.get(shown.seq) ?? []) change(view, row);
        return view;
    });
    const ids = new Set(placed.map(({ id }) => id));
    const pending = (row, stage) => ({
        id: row.id, seq: row.seq ?? 0, user, at: row.at, text: row.body?.text ?? null, type: row.type, own: true, seenBy: [], stage,
        ...(stage === "failed" && { failure: row.failure, mayRetry: row.state === "failed" }),
    });
    const rest = [...acked.values()].map((row) => pending(row, "stored"));
    const sent = state?.hasState ? state.sentUpTo : 0;
    for (const row of waiting) {
        if (!row.about) rest.push(pending(row, row.state === "burning" ? "failed" : row.cseq <= sent ? "sent" : "queued"));
    }
    for (const row of state?.failed ?? []) if (!row.about || row.type === "holdfast.edit") rest.push(pending(row, "failed"));
    return [...placed, ...rest.filter(({ id }) => !ids.has(id))];
}

function groupBySeq(rows) {
    const groups = new Map();
    for (const row of rows) if (row.about) groups.set(row.about.seq, [...(groups.get(row.about.seq) ?? []), row]);
    return groups;
}

/** What a message will look like when the hub has taken what waits. */
function change(view, { type, body }) {
    view.stage = view.own ? "queued" : undefined;
    if (type === "holdfast.edit") [view.text, view.isEdited] = [body.text, true];
    else if (type === "holdfast.delete") view.isDeleted = true;
    else if (type === "holdfast.react") {
        const known = view.reactions.find(({ key }) => key === body.key);
        const users = new Set(known?.users ?? []);
        body.on ? users.add(user) : users.delete(user);
        view.reactions = view.reactions.filter(({ key }) => key !== body.key);
        if (users.size > 0) view.reactions.push({ key: body.key, users: [...users], mine: body.on });
    }
}

/** Once per frame, however much comes; a page that nobody sees has no frames. */
function draw() {
    if (mustDraw) return;
    mustDraw = true;
    const soon = document.hidden ? (work) => setTimeout(work, 50) : requestAnimationFrame;
    soon(drawNow);
}

function drawNow() {
    mustDraw = false;
    const scroll = byID("scroll");
    const messages = views();
    list.draw(messages, Date.now());
    byID("empty").hidden = messages.length > 0 || !client.room(room)?.isLive;
    byID("earlier").hidden = reachedBeginning || first === Infinity;
    byID("beginning").hidden = !reachedBeginning || messages.length === 0;
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
    if (isLoading || reachedBeginning || first === Infinity) return;
    isLoading = true;
    const scroll = byID("scroll");
    try {
        const { items, isFirst } = await client.earlier(room, first, pageSize);
        const [height, top] = [scroll.scrollHeight, scroll.scrollTop];
        take(items);
        reachedBeginning ||= isFirst;
        isAtEnd = false;
        drawNow();
        scroll.scrollTop = top + scroll.scrollHeight - height;
    } catch {
        // Without a connection there is nothing to load; the button stays.
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
// A keyboard on a phone, a window that changes: the end stays in sight.
new ResizeObserver(() => {
    if (isAtEnd && client !== null) byID("scroll").scrollTop = byID("scroll").scrollHeight;
}).observe(byID("scroll"));

// Saying something.

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

/** The field is empty once the message is in the outbox, not before. */
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
        words.value = text + (words.value === "" ? "" : `\n${words.value}`);
        fit();
        complain(error);
    }
}

function fit() {
    words.style.height = "auto";
    words.style.height = `${words.scrollHeight + 2}px`;
}

function beginEdit(seq) {
    const shown = timeline.messages.get(seq);
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
    const view = views().find((message) => message.seq === seq);
    const on = !view?.reactions?.some((reaction) => reaction.key === key && reaction.mine);
    client.send(room, { type: "holdfast.react", about: { kind: "react", seq }, body: { key, on } }).catch(complain);
}

function complain(error) {
    banner(error instanceof OutboxError ? error.message : `Something went wrong: ${error.message}`);
    setTimeout(tellConnection, 6_000);
}

// Who is there, and how the connection is.

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
    if (state?.phase === "refused") banner(`The hub does not let you into this room. ${state.refusal?.text ?? ""}`);
    else if (client.state === "refused") banner(`The hub does not let you in: ${client.refusal?.text ?? "it says no more"}`, "Back", leave);
    else if (client.state === "replaced") banner("This place is used by another page now.", "Use it here", () => client.online());
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
        const notes = [name === user && "you", status !== "online" && status, connections > 1 && `${connections} connections`];
        return element("li", { "data-user": name, "data-status": status }, avatar(name), element("b", { text: name }),
            element("small", { text: notes.filter(Boolean).join(", ") }));
    }));
}

function tellTyping() {
    const typing = client.room(room)?.typing ?? [];
    const text = typing.length === 0 ? "" : typing.length === 1 ? `${typing[0]} is typing…`
        : typing.length < 4 ? `${typing.join(", ")} are typing…` : "Several people are typing…";
    write("typing", text);
}

async function leave() {
    await client.leave(room);
    await client.close();
    location.hash = "";
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
