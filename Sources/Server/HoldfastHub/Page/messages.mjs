// Draws the list of messages: each message keeps its element as long as it is shown, whatever happens to it.

const svg = "http://www.w3.org/2000/svg";
const ticks = {
    queued: ["M8.5 2.5a5 5 0 1 0 .01 0M8.5 5v3l2 1.5", "waiting to be sent"],
    sent: ["M3 7.5l3.5 3.5L13.5 3", "sent"],
    stored: ["M1.5 7.5L5 11l7-8M8 10l1 1 7-8", "stored"],
    seen: ["M1.5 7.5L5 11l7-8M8 10l1 1 7-8", "seen"],
};
const icons = {
    edit: "M4 20l1-4.5L16.5 4a2.1 2.1 0 0 1 3.5 3.5L8.5 19z",
    delete: "M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13",
};
const keys = ["👍", "❤️", "😂"];

export function element(name, { className, text, ...attributes } = {}, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
}

export function icon(path, box = "0 0 24 24") {
    const drawing = document.createElementNS(svg, "svg");
    drawing.setAttribute("viewBox", box);
    drawing.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(svg, "path");
    line.setAttribute("d", path);
    drawing.append(line);
    return drawing;
}

/** Returns a name for display: characters that are invisible or change the text direction are written as codes. */
export function shownName(name) {
    return name.replaceAll(/(?! )[\p{Cc}\p{Cf}\p{Z}\u2800\p{Default_Ignorable_Code_Point}]/gu,
        (hidden) => `‹U+${hidden.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/** Creates an avatar: each user has the same colour everywhere, dark enough for white letters. */
export function avatar(user) {
    let sum = 7;
    for (const letter of user) sum = (sum * 31 + letter.codePointAt(0)) % 3_600;
    const made = element("span", { className: "avatar", "aria-hidden": "true", text: [...shownName(user)][0]?.toUpperCase() ?? "?" });
    made.style.background = `oklch(0.5 0.13 ${sum / 10})`;
    return made;
}

const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const togetherFor = 5 * 60_000;

/** Returns the name of a day for people. */
function dayOf(at, now) {
    const days = Math.round((new Date(now).setHours(12, 0, 0, 0) - new Date(at).setHours(12, 0, 0, 0)) / 86_400_000);
    return days === 0 ? "Today" : days === 1 ? "Yesterday" : date.format(at);
}

/** Turns links in a text into elements; they open in a new tab and send no referrer. */
function linked(text) {
    return text.split(/(https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)\]])/).map((part, index) => (index % 2 === 0 ? part
        : element("a", { href: part, text: part, target: "_blank", rel: "noopener noreferrer nofollow" })));
}

export class MessageList {
    #list;
    #orders;
    #elements = new Map();
    #hasDrawn = false;

    /** `orders`: the actions of a message's buttons: react, edit, delete, retry, discard. */
    constructor(list, orders) {
        this.#list = list;
        this.#orders = orders;
        list.addEventListener("click", (event) => this.#clicked(event));
    }

    clear() {
        this.#list.replaceChildren();
        this.#elements.clear();
        this.#hasDrawn = false;
    }

    /**
     * `messages`: {key, id, user, at, text, own, stage, …}, in display order. The key identifies the element. The ID does not, because
     * anybody may choose an ID that was used before. If an object is the same as before, its content is the same.
     */
    draw(messages, now) {
        const shown = new Set();
        let place = this.#list.firstChild;
        let before = null;
        const put = (key, content, isFirst, make) => {
            shown.add(key);
            let known = this.#elements.get(key);
            if (known?.content !== content || known.isFirst !== isFirst) {
                const signature = JSON.stringify([content, isFirst]);
                const isSame = known?.signature === signature;
                const made = isSame ? known.element : make();
                if (isSame) {
                    // The view was made anew with the same content.
                } else if (known !== undefined) {
                    made.classList.toggle("is-open", known.element.classList.contains("is-open"));
                    const focused = known.element.contains(document.activeElement) ? document.activeElement.dataset.order : undefined;
                    if (place === known.element) place = made;
                    known.element.replaceWith(made);
                    if (focused !== undefined) made.querySelector(`[data-order="${focused}"]`)?.focus({ preventScroll: true });
                } else if (this.#hasDrawn) made.classList.add("is-new");
                known = { content, isFirst, signature, element: made };
                this.#elements.set(key, known);
            }
            if (place === known.element) place = place.nextSibling;
            else this.#list.insertBefore(known.element, place);
        };
        for (const message of messages) {
            const day = dayOf(message.at, now);
            if (before === null || dayOf(before.at, now) !== day) {
                put(`day ${new Date(message.at).toDateString()}`, day, false, () => element("li", { className: "day", text: day }));
                before = null;
            }
            const isFirst = before === null || before.user !== message.user || message.at - before.at > togetherFor;
            put(message.key, message, isFirst, () => this.#message(message, isFirst));
            before = message;
        }
        for (const [key, { element }] of this.#elements) {
            if (shown.has(key)) continue;
            element.remove();
            this.#elements.delete(key);
        }
        this.#hasDrawn = true;
    }

    #message(message, isFirst) {
        const { id, user, own, stage, isDeleted, reactions = [] } = message;
        const made = element("li", { "data-id": id, "data-stage": stage ?? "" });
        made.className = ["message", own && "own", isFirst && "first", isDeleted && "is-deleted",
            stage === "failed" ? "is-failed" : (stage === "queued" || stage === "sent") && "is-waiting"].filter(Boolean).join(" ");
        if (seqOf(message)) made.dataset.seq = message.seq;
        if (!own && isFirst) made.append(avatar(user));
        if (isFirst && !own) made.append(element("p", { className: "who", text: shownName(user) }));
        else made.append(element("span", { className: "unseen", text: own ? "You: " : `${shownName(user)}: ` }));
        made.append(element("div", { className: "line" }, this.#bubble(message), this.#actions(message)));
        if (reactions.length > 0) made.append(this.#reactions(reactions));
        if (stage === "failed") made.append(this.#trouble(message));
        return made;
    }

    #bubble({ text, at, own, stage, seenBy, isDeleted, isEdited, type }) {
        const bubble = element("div", { className: "bubble" });
        if (isDeleted) bubble.append("This message was deleted.");
        else if (text === null) bubble.append(element("span", { className: "unknown", text: `Unknown message type: ${type}` }));
        else bubble.append(...linked(text));
        const meta = element("span", { className: "meta" });
        if (isEdited && !isDeleted) meta.append("edited");
        meta.append(element("time", { datetime: new Date(at).toISOString(), text: hour.format(at) }));
        if (own && stage in ticks && !isDeleted) {
            const [path, words] = ticks[stage];
            const told = stage === "seen" ? `seen by ${seenBy.map(shownName).join(", ")}` : words;
            const tick = element("span", { className: "tick", "data-stage": stage, title: told }, icon(path, "0 0 17 14"));
            meta.append(tick, element("span", { className: "unseen", text: told }));
        }
        bubble.append(meta);
        return bubble;
    }

    #actions({ own, seq, isDeleted, mayChange }) {
        if (!seq || isDeleted) return null;
        const actions = element("div", { className: "actions", role: "group", "aria-label": "Actions for this message" });
        for (const key of keys) actions.append(button("react", `React with ${key}`, { "data-key": key }, key));
        if (own) actions.append(button("edit", "Edit", {}, icon(icons.edit)));
        if (own || mayChange) actions.append(button("delete", "Delete", {}, icon(icons.delete)));
        return actions;
    }

    #reactions(reactions) {
        const row = element("div", { className: "reactions", role: "group", "aria-label": "Reactions" });
        for (const { key, users, mine } of reactions) {
            const told = `${key} by ${users.map(shownName).join(", ")}`;
            const text = `${key} ${users.length}`;
            row.append(button("react", told, { "data-key": key, "aria-pressed": mine, text }));
        }
        return row;
    }

    #trouble({ failure, mayRetry }) {
        const row = element("p", { className: "trouble" }, element("span", { text: `Not sent. ${failure?.text ?? ""}` }));
        if (mayRetry) {
            row.append(element("button", { type: "button", "data-order": "retry", text: "Send again" }),
                element("button", { type: "button", "data-order": "discard", text: "Discard" }));
        }
        return row;
    }

    #clicked({ target }) {
        const message = target.closest(".message");
        if (message === null) return;
        const ordered = target.closest("[data-order]");
        if (ordered === null) {
            if (target.closest("a") !== null || !matchMedia("(hover: none)").matches) return;
            for (const other of this.#list.querySelectorAll(".is-open")) if (other !== message) other.classList.remove("is-open");
            message.classList.toggle("is-open");
            return;
        }
        message.classList.remove("is-open");
        this.#orders[ordered.dataset.order]({ id: message.dataset.id, seq: Number(message.dataset.seq) || 0, key: ordered.dataset.key });
    }
}

const seqOf = ({ seq }) => seq > 0;

function button(order, label, attributes, content) {
    return element("button", { type: "button", "data-order": order, "aria-label": label, title: label, ...attributes }, content);
}
