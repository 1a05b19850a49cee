"""Draws the chart of docs/figures.md from `latest.json`: messages per second of processor time. Longer is better."""

import json
import pathlib

# Grey that is readable on white and on black, because the background is transparent.
TEXT, OURS, REFERENCES, PEERS = "#7d8590", "#e8590c", "#4c8dca", "#a5adb8"
PANELS = [
    ("server echo 32 B", "Server: echo of 32-byte messages"),
    ("client receive 64 B", "Client: receive 64-byte messages"),
    ("client send 64 B", "Client: send 64-byte messages"),
]
LIMITS = {"bare NIO", "raw TCP in C", "WebSocket in C", "C client"}


def rates(figures: list[dict], row: str) -> list[tuple[str, float]]:
    """Millions of messages per second of processor time. The lowest comes first, because bars are drawn upwards."""
    found = [(f["program"], 1e3 / f["value"]) for f in figures if f["row"] == row and f["measure"] == "cpu" and f["value"]]
    return sorted(found, key=lambda pair: pair[1])


def colour(program: str) -> str:
    if program.startswith("Holdfast"):
        return OURS
    return REFERENCES if program in LIMITS else PEERS


def draw(source: pathlib.Path, target: pathlib.Path) -> list[pathlib.Path]:
    """Writes `target` as PNG and SVG, or nothing if no row was run."""
    content = json.loads(source.read_text())
    panels = [(title, bars) for row, title in PANELS if (bars := rates(content["figures"], row))]
    if not panels:
        return []
    # Imported here, so that everything except the chart works without the package.
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams |= {"font.family": "DejaVu Sans", "font.size": 9, "text.color": TEXT, "axes.labelcolor": TEXT, "xtick.color": TEXT,
                     "ytick.color": TEXT, "svg.fonttype": "none", "svg.hashsalt": "holdfast"}  # fmt: skip
    heights = [len(bars) + 2 for _, bars in panels]
    figure, all_axes = plt.subplots(
        len(panels), 1, figsize=(8, 0.26 * sum(heights)), gridspec_kw={"height_ratios": heights}, squeeze=False, layout="constrained"
    )
    for axes, (title, bars) in zip(all_axes[:, 0], panels):
        draw_panel(axes, title, bars)
    figure.supxlabel(f"million messages per second of processor time  ·  {content['machine']}  ·  {content['date']}", fontsize=7)
    target.parent.mkdir(parents=True, exist_ok=True)
    paths = [target.with_suffix(".png"), target.with_suffix(".svg")]
    figure.savefig(paths[0], dpi=160, transparent=True)
    figure.savefig(paths[1], transparent=True, metadata={"Date": None})
    plt.close(figure)
    return paths


def draw_panel(axes, title: str, bars: list[tuple[str, float]]) -> None:
    names, values = zip(*bars)
    drawn = axes.barh(names, values, color=[colour(name) for name in names], height=0.7)
    axes.bar_label(drawn, labels=[f"{value:.2f}" if value < 10 else f"{value:.1f}" for value in values], padding=4, fontsize=8)
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_xlim(0, max(values) * 1.1)
    axes.set_ylim(-0.7, len(bars) - 0.3)
    axes.xaxis.set_visible(False)
    axes.tick_params(axis="y", length=0)
    for name, label in zip(names, axes.get_yticklabels()):
        if name.startswith("Holdfast"):
            label.set_color(OURS)
            label.set_fontweight("bold")
    for side in axes.spines.values():
        side.set_visible(False)
