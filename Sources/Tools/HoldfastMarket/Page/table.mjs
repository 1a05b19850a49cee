// The table: it has only as many rows as fit, whatever the market's size, and updates only cells that have changed.

const flashTime = 350;
/** The number of sparklines drawn in one frame: they take turns, so that no frame has to draw all of them. */
const sparklinesPerFrame = 6;

export class Table {
    #market;
    #scroll = document.getElementById("scroll");
    #rows = document.getElementById("rows");
    #pool = [];
    #order = [];
    #height = 36;
    #nextSparkline = 0;
    #colors = {};
    #isCalm;

    constructor(market) {
        this.#market = market;
        new ResizeObserver(() => this.measure()).observe(this.#scroll);
        const light = matchMedia("(prefers-color-scheme: light)");
        light.addEventListener("change", () => this.measure());
        const calm = matchMedia("(prefers-reduced-motion: reduce)");
        calm.addEventListener("change", () => (this.#isCalm = calm.matches));
        this.#isCalm = calm.matches;
    }

    /** Sets the indices in display order. */
    show(order) {
        this.#order = order;
        this.#rows.style.height = `${order.length * this.#height}px`;
        document.getElementById("table").setAttribute("aria-rowcount", order.length + 1);
    }

    /** Creates as many rows as fit, and reads sizes and colours from the style sheet. */
    measure() {
        const style = getComputedStyle(document.documentElement);
        this.#height = parseFloat(style.getPropertyValue("--row"));
        for (const name of ["up", "down", "quiet"]) this.#colors[name] = style.getPropertyValue(`--${name}`);
        const wanted = Math.ceil(this.#scroll.clientHeight / this.#height) + 2;
        while (this.#pool.length < wanted) this.#pool.push(new Row(this.#rows));
        while (this.#pool.length > wanted) this.#pool.pop().remove();
        for (const row of this.#pool) row.forget();
        this.show(this.#order);
    }

    /** Updates the visible rows. */
    draw(now) {
        const first = Math.max(0, Math.floor(this.#scroll.scrollTop / this.#height));
        const size = this.#pool.length;
        for (let index = first; index < first + size; index++) {
            const row = this.#pool[index % size];
            if (index < this.#order.length) {
                row.move(index, this.#height);
                row.update(this.#order[index], this.#market, now, this.#isCalm);
            } else row.hide();
        }
        for (let count = 0; count < Math.min(sparklinesPerFrame, size); count++) {
            this.#pool[this.#nextSparkline++ % size].drawSparkline(this.#market, this.#colors);
        }
    }
}

class Row {
    #element = document.createElement("div");
    #texts = {};
    #price = document.createElement("b");
    #canvas = document.createElement("canvas");
    #arrow = document.createElement("span");
    #change;
    #index = -1;
    #place = -1;
    #run = null;
    #version = -1;
    #last = -1;
    #flash = "";
    #flashEnd = 0;
    #samples = -1;

    constructor(parent) {
        this.#element.className = "row";
        this.#element.setAttribute("role", "row");
        for (const name of ["symbol", "last", "change", "trend", "bid", "ask", "spread", "volume", "time"]) {
            const cell = document.createElement("span");
            cell.className = name;
            cell.setAttribute("role", "cell");
            this.#texts[name] = document.createTextNode("");
            if (name === "trend") {
                this.#canvas.setAttribute("aria-hidden", "true");
                cell.append(this.#canvas);
            } else if (name === "last") {
                this.#price.append(this.#texts.last);
                cell.append(this.#price);
            } else if (name === "symbol") {
                this.#arrow.className = "arrow";
                cell.append(this.#arrow, this.#texts.symbol);
            } else cell.append(this.#texts[name]);
            if (name === "change") this.#change = cell;
            this.#element.append(cell);
        }
        parent.append(this.#element);
    }

    remove() {
        this.#element.remove();
    }

    /** Makes the next update write everything again. */
    forget() {
        this.#index = -1;
        this.#place = -1;
        this.#samples = -1;
    }

    hide() {
        if (!this.#element.hidden) this.#element.hidden = true;
    }

    move(index, height) {
        if (index === this.#index) return;
        this.#index = index;
        this.#element.hidden = false;
        this.#element.style.transform = `translateY(${index * height}px)`;
        this.#element.setAttribute("aria-rowindex", index + 2);
    }

    update(place, market, now, isCalm) {
        if (this.#element.hidden) this.#element.hidden = false;
        const isOther = place !== this.#place || market.run !== this.#run;
        if (isOther) {
            this.#place = place;
            this.#run = market.run;
            this.#samples = -1;
            this.#write("symbol", market.names[place]);
            this.#light("", 0);
        } else if (market.version[place] === this.#version) {
            if (this.#flash !== "" && now >= this.#flashEnd) this.#light("", 0);
            return;
        }
        this.#version = market.version[place];
        const last = market.last[place];
        if (!isOther && last !== this.#last && now >= this.#flashEnd && !isCalm) {
            this.#light(last > this.#last ? "up" : "down", now + flashTime);
        } else if (this.#flash !== "" && now >= this.#flashEnd) this.#light("", 0);
        this.#last = last;
        this.#write("last", price(last));
        this.#write("bid", price(market.bid[place]));
        this.#write("ask", price(market.ask[place]));
        this.#write("spread", price(market.ask[place] - market.bid[place]));
        this.#write("volume", grouped(market.volume[place]));
        this.#write("time", clock(market.time[place]));
        const change = market.change(place);
        this.#write("change", percent(change));
        this.#mark(this.#change, change > 0 ? "rising" : change < 0 ? "falling" : "");
        const direction = market.direction[place];
        this.#point(direction > 0 ? "▲" : direction < 0 ? "▼" : "", direction > 0 ? "rising" : "falling");
    }

    #write(name, text) {
        const node = this.#texts[name];
        if (node.data !== text) node.data = text;
    }

    #mark(cell, kind) {
        const name = `change ${kind}`;
        if (cell.className !== name) cell.className = name;
    }

    #point(sign, kind) {
        if (this.#arrow.textContent === sign) return;
        this.#arrow.textContent = sign;
        this.#arrow.className = `arrow ${kind}`;
    }

    #light(kind, end) {
        if (kind !== this.#flash) this.#price.className = kind;
        this.#flash = kind;
        this.#flashEnd = end;
    }

    drawSparkline(market, colors) {
        if (this.#place < 0 || this.#element.hidden || this.#samples === market.samples || market.samples === 0) return;
        this.#samples = market.samples;
        const ratio = devicePixelRatio;
        const width = Math.round(this.#canvas.clientWidth * ratio);
        const height = Math.round(24 * ratio);
        if (width === 0) return;
        if (this.#canvas.width !== width || this.#canvas.height !== height) {
            this.#canvas.width = width;
            this.#canvas.height = height;
        }
        const values = market.trend(this.#place);
        const context = this.#canvas.getContext("2d");
        context.clearRect(0, 0, width, height);
        if (values.length < 2) return;
        const low = Math.min(...values);
        const high = Math.max(...values);
        const inset = 3 * ratio;
        const scale = high > low ? (height - 2 * inset) / (high - low) : 0;
        const step = (width - 2 * inset) / (values.length - 1);
        const level = (value) => (scale > 0 ? height - inset - (value - low) * scale : height / 2);
        const line = new Path2D();
        values.forEach((value, index) => line.lineTo(inset + index * step, level(value)));
        const newest = values.at(-1);
        const color = newest > values[0] ? colors.up : newest < values[0] ? colors.down : colors.quiet;
        context.lineWidth = 1.5 * ratio;
        context.lineJoin = "round";
        context.strokeStyle = context.fillStyle = color;
        context.stroke(line);
        context.beginPath();
        context.arc(width - inset, level(newest), 2 * ratio, 0, 7);
        context.fill();
        line.lineTo(width - inset, height);
        line.lineTo(inset, height);
        context.globalAlpha = 0.13;
        context.fill(line);
        context.globalAlpha = 1;
    }
}

/** Formats a price in units of 1/10000 with two decimals, or four below one. */
export function price(units) {
    const text = (units / 10_000).toFixed(Math.abs(units) < 10_000 && units % 100 !== 0 ? 4 : 2);
    return units >= 10_000_000 ? grouped(text) : text;
}

/** Adds commas between groups of three digits. */
export function grouped(number) {
    const text = String(number);
    const point = text.indexOf(".");
    let at = point < 0 ? text.length : point;
    let result = text.slice(at);
    for (; at > 3; at -= 3) result = `,${text.slice(at - 3, at)}${result}`;
    return text.slice(0, at) + result;
}

function percent(share) {
    const text = (share * 100).toFixed(2);
    return share > 0 ? `+${text} %` : `${text.replace("-", "−")} %`;
}

const offset = new Date().getTimezoneOffset() * 60_000;

/** Formats a local time of day. */
function clock(milliseconds) {
    const seconds = Math.floor((milliseconds - offset) / 1000) % 86_400;
    const two = (number) => (number < 10 ? `0${number}` : `${number}`);
    return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}
