// A line chart of the last minutes, drawn as SVG so that it follows the page's colours; its figures are also available as text.

const svg = "http://www.w3.org/2000/svg";
const points = 180;
const [width, height, left, right, top, bottom] = [600, 190, 46, 6, 8, 20];

const made = (name, attributes = {}) => {
    const element = document.createElementNS(svg, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
};

/** Rounds a value up to a round number: 1, 2 or 5 times a power of ten. */
export function roundUp(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [1, 2, 5, 10].find((step) => step * power >= value * 0.999999);
}

export function short(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    if (value >= 1e6) return `${(value / 1e6).toFixed(1)} M`;
    if (value >= 10_000) return `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)} k`;
    return value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString() : value.toFixed(value < 1 ? 2 : 1);
}

export class Chart {
    #values = [];
    #names;
    #unit;
    #drawing = made("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    #legend;
    #title;
    #pointed = null;

    /** `names`: the names of one or two lines; `unit` is appended to each value. */
    constructor(title, names, unit) {
        [this.#title, this.#names, this.#unit] = [title, names, unit];
        this.figure = document.createElement("figure");
        const caption = document.createElement("figcaption");
        this.#legend = document.createElement("span");
        this.#legend.className = "legend";
        caption.append(title, this.#legend);
        this.figure.append(caption, this.#drawing);
        this.#drawing.addEventListener("pointermove", ({ clientX }) => {
            const { left: from, width: wide } = this.#drawing.getBoundingClientRect();
            this.#point(Math.round(((clientX - from) / wide * width - left) / ((width - left - right) / (points - 1))));
        });
        this.#drawing.addEventListener("pointerleave", () => this.#point(null));
        this.draw();
    }

    /** Adds one value per line; null if there is none. */
    add(at, values) {
        this.#values.push({ at, values });
        if (this.#values.length > points) this.#values.shift();
        this.draw();
    }

    #point(place) {
        this.#pointed = place;
        this.draw();
    }

    draw() {
        const all = this.#values.flatMap(({ values }) => values).filter((value) => value !== null);
        const most = roundUp(Math.max(0, ...all));
        const x = (index) => left + ((points - this.#values.length + index) * (width - left - right)) / (points - 1);
        const y = (value) => height - bottom - (value / most) * (height - top - bottom);
        const parts = [];
        for (const share of [0, 0.5, 1]) {
            const at = y(most * share);
            parts.push(made("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
            parts.push(this.#label(left - 8, at + 4, short(most * share), "end"));
        }
        parts.push(this.#label(left, height - 4, `${points / 60} min ago`, "start"), this.#label(width - right, height - 4, "now", "end"));
        this.#names.forEach((_, line) => parts.push(...this.#line(line, x, y)));
        const pointed = this.#pointed === null ? undefined : this.#pointed - (points - this.#values.length);
        const sample = this.#values[pointed] ?? this.#values.at(-1);
        if (this.#values[pointed] !== undefined) {
            parts.push(made("line", { class: "cursor", x1: x(pointed), x2: x(pointed), y1: top, y2: height - bottom }));
        }
        this.#drawing.replaceChildren(...parts);
        this.#tell(sample, this.#values[pointed] !== undefined);
    }

    /** Draws a line with gaps where values are missing. */
    #line(line, x, y) {
        let path = "";
        let area = "";
        let start = null;
        const close = (end) => { if (start !== null) area += ` L${x(end)} ${y(0)} L${x(start)} ${y(0)} Z`; };
        this.#values.forEach(({ values }, index) => {
            const value = values[line];
            if (value === null) {
                close(index - 1);
                start = null;
                return;
            }
            const step = `${start === null ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)} `;
            path += step;
            area += step;
            start ??= index;
        });
        close(this.#values.length - 1);
        const drawn = [made("path", { class: `line-${line}`, d: path })];
        if (line === 0) drawn.unshift(made("path", { class: `area line-${line}`, d: area }));
        return drawn;
    }

    #label(x, y, text, anchor) {
        const label = made("text", { x, y, "text-anchor": anchor });
        label.textContent = text;
        return label;
    }

    #said(value) {
        return Number.isFinite(value) ? short(value) + this.#unit : short(value);
    }

    #tell(sample, isPast) {
        const values = this.#names.map((name, line) => [name, this.#said(sample?.values[line])]);
        this.#legend.replaceChildren(...values.map(([name, value], line) => {
            const entry = document.createElement("span");
            const mark = document.createElement("i");
            mark.className = `line-${line}`;
            const figure = document.createElement("b");
            figure.textContent = value;
            entry.append(mark, `${name} `, figure);
            return entry;
        }));
        if (isPast) this.#legend.prepend(new Date(sample.at).toLocaleTimeString());
        this.#drawing.setAttribute("aria-label", `${this.#title}: ${values.map((pair) => pair.join(" ")).join(", ")}`);
    }
}
