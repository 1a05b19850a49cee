// Shows the hub's figures once per second.

import { Chart, short } from "./chart.mjs";

const byID = (id) => document.getElementById(id);
const charts = {
    messages: new Chart("Messages per second", ["stored", "delivered"], ""),
    connections: new Chart("Connections", ["connections", "rooms"], ""),
    commit: new Chart("Time until on disk", ["median", "99th percentile"], " ms"),
    fanout: new Chart("Time until delivered", ["median", "99th percentile"], " ms"),
};
byID("charts").append(...Object.values(charts).map(({ figure }) => figure));

let last = null;

function write(id, text, note = "") {
    const place = byID(id);
    const small = document.createElement("small");
    small.textContent = note;
    place.replaceChildren(text, ...(note === "" ? [] : [" ", small]));
}

const number = (value) => (Number.isFinite(value) ? value : null);

/** Returns the change of a counter per second; null at first, and after a restart of the hub. */
function rate(status, name) {
    const [now, before] = [number(status.totals?.[name]), number(last?.totals?.[name])];
    const seconds = (status.now - last?.now) / 1000;
    return now === null || before === null || !(seconds > 0) || now < before ? null : (now - before) / seconds;
}

function bytes(count) {
    if (number(count) === null) return ["–"];
    const power = count <= 0 ? 0 : Math.min(4, Math.floor(Math.log2(count) / 10));
    return [short(Number((count / 1024 ** power).toFixed(1))), ["B", "KiB", "MiB", "GiB", "TiB"][power]];
}

function duration(milliseconds) {
    const seconds = Math.floor(milliseconds / 1000);
    if (!(seconds >= 0)) return "–";
    const [days, hours, minutes] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3_600) % 24, Math.floor(seconds / 60) % 60];
    if (days > 0) return `${days} d ${hours} h`;
    if (hours > 0) return `${hours} h ${minutes} min`;
    return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}

function show(status) {
    if (status.started !== last?.started) last = null;
    const perSecond = (value) => (value === null ? "" : `${short(value)}/s`);
    const [stored, delivered] = [rate(status, "published"), rate(status, "delivered")];
    for (const name of ["rooms", "connections", "members"]) write(name, short(number(status[name])));
    write("published", short(number(status.totals?.published)), perSecond(stored));
    write("delivered", short(number(status.totals?.delivered)), perSecond(delivered));
    for (const name of ["duplicates", "refused"]) write(name, short(number(status.totals?.[name])));
    const failed = number(status.totals?.failedAppends);
    write("failed", short(failed), failed > 0 ? status.log?.failure ?? "" : "");
    byID("failed").parentElement.dataset.bad = failed > 0;
    write("memory", ...bytes(status.memory));
    write("log", ...bytes(status.log?.bytes));
    write("uptime", duration(status.now - status.started));
    const alarms = Array.isArray(status.alarms) ? status.alarms : [];
    byID("alarms").hidden = alarms.length === 0;
    byID("alarms").replaceChildren(...alarms.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    if (status.busiest) showBusiest(status.busiest);
    if (last !== null) charts.messages.add(status.now, [stored, delivered]);
    charts.connections.add(status.now, [number(status.connections), number(status.rooms)]);
    for (const name of ["commit", "fanout"]) charts[name].add(status.now, [number(status[name]?.p50), number(status[name]?.p99)]);
    last = status;
    if (status.healthy === false) link("failing", `the log cannot be written: ${status.problem ?? "unknown reason"}`);
    else link("live", "live");
    globalThis.status = { last: status, charts };
}

function showBusiest({ members, pace }) {
    byID("busiest").hidden = false;
    for (const [id, rooms, measure] of [["by-members", members, "members"], ["by-pace", pace, "pace"]]) {
        const most = Math.max(...rooms.map((room) => room[measure]));
        byID(id).tBodies[0].replaceChildren(...rooms.map((room) => {
            const row = document.createElement("tr");
            const name = document.createElement("bdi");
            name.textContent = name.title = room.room;
            row.insertCell().append(name);
            for (const figure of ["members", "pace"]) row.insertCell().textContent = short(room[figure]);
            row.style.setProperty("--share", `${100 * room[measure] / most}%`);
            return row;
        }));
    }
}

function link(state, text) {
    byID("link").dataset.state = document.body.dataset.state = state;
    if (byID("link-text").textContent !== text) byID("link-text").textContent = text;
}

const retryAfter = 2_000;

/** A browser stops for good when a stream is answered with an error, so the page reconnects to find a restarted hub. */
function listen() {
    const stream = new EventSource("status/stream");
    stream.onmessage = ({ data }) => {
        try {
            show(JSON.parse(data));
        } catch (error) {
            if (!(error instanceof SyntaxError)) throw error;
        }
    };
    stream.onerror = () => {
        link("lost", "no figures from the hub: it is down, or shows them only on its own machine");
        if (stream.readyState !== EventSource.CLOSED) return;
        setTimeout(listen, retryAfter);
    };
}
listen();
