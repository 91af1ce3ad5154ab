#!/usr/bin/env python3
"""plot_queries.py [JSON] [FOLDER]: draws what gpu.pl measured, as SVG files beside the result."""
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"serial": "PostgreSQL", "workers": "PostgreSQL, 8 workers", "cpu": "gpusort, CPU", "gpu": "gpusort, GPU"}
COLORS = {"serial": "#888888", "workers": "#bbbbbb", "cpu": "#4477aa", "gpu": "#228833"}


def finish(figure, folder, name, result):
    """Adds where the figures come from and writes the file."""
    machine = result["device"] + (f", driver {result['driver']}" if "driver" in result else "")
    figure.text(0.01, 0.005, f"{machine}, {result['date']}, {result['commit']}", fontsize=6)
    figure.tight_layout(rect=(0, 0.02, 1, 1))
    figure.savefig(os.path.join(folder, name), metadata={"Date": None})
    plt.close(figure)


def order(result, folder):
    """Seconds of each query by side, and the stages of gpusort's."""
    queries = result["order"]["queries"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), gridspec_kw={"width_ratios": [3, 2]})
    for s, side in enumerate(NAMES):
        left.bar([q + (s - 1.5) * 0.2 for q in range(len(queries))], [q["sides"][side]["ms"] / 1000 for q in queries], 0.2,
                 label=NAMES[side], color=COLORS[side])
    left.set_xticks(range(len(queries)), [q["name"].replace("ORDER BY ", "", 1) for q in queries], fontsize=7)
    left.set_ylabel("seconds")
    left.set_title(f"ORDER BY, {result['order']['rows'] // 1000000} million rows", fontsize=9)
    left.legend(fontsize=7)
    labels = []
    for q, query in enumerate(queries):
        for s, side in enumerate(("cpu", "gpu")):
            bottom = 0
            for stage, color in (("in_ms", "#66ccee"), ("sort_ms", "#ee6677"), ("out_ms", "#ccbb44")):
                right.bar(q * 2.5 + s, query["sides"][side][stage], 0.9, bottom, color=color)
                bottom += query["sides"][side][stage]
            labels.append((q * 2.5 + s, side.upper()))
    right.set_xticks([x for x, _ in labels], [name for _, name in labels], fontsize=6)
    right.set_ylabel("ms")
    right.set_title("stages of gpusort: in, wait for the order, out", fontsize=9)
    right.legend(handles=[plt.Rectangle((0, 0), 1, 1, color=c) for c in ("#66ccee", "#ee6677", "#ccbb44")],
                 labels=["in", "wait", "out"], fontsize=7)
    finish(figure, folder, "queries-gpu-order.svg", result)


def sessions(result, folder):
    """Throughput and time of a sort by the number of sessions."""
    large = result["sessions"]["large"]
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.5))
    for side in ("serial", "cpu", "gpu"):
        n = [m["sessions"] for m in large]
        axes[0].plot(n, [m["sides"][side]["tps"] * 60 for m in large], "o-", label=NAMES[side], color=COLORS[side])
        axes[1].plot(n, [m["sides"][side]["ms"] / 1000 for m in large], "o-", label=NAMES[side], color=COLORS[side])
    for axis, title in zip(axes, ("sorts a minute", "seconds for each")):
        axis.set_xscale("log", base=2)
        axis.set_xticks([m["sessions"] for m in large], [m["sessions"] for m in large])
        axis.set_xlabel("sessions at once")
        axis.set_title(title, fontsize=9)
        axis.set_ylim(bottom=0)
    axes[0].legend(fontsize=7)
    finish(figure, folder, "queries-gpu-sessions.svg", result)


def even(result, folder):
    """How much longer the CPU takes than the GPU, by rows and key."""
    figure, axis = plt.subplots(figsize=(6, 3.5))
    for key in dict.fromkeys(m["key"] for m in result["even"]):
        points = [m for m in result["even"] if m["key"] == key]
        axis.plot([m["rows"] for m in points], [m["cpu_ms"] / m["gpu_ms"] for m in points], "o-", label=key)
    axis.axhline(1, color="black", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_xlabel("rows, warm session")
    axis.set_ylabel("time on the CPU / on the GPU")
    axis.legend(fontsize=7)
    finish(figure, folder, "queries-gpu-even.svg", result)


def main():
    source = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "results", "queries-gpu.json")
    folder = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(source)
    with open(source, encoding="utf-8") as file:
        result = json.load(file)
    for part, draw in (("order", order), ("sessions", sessions), ("even", even)):
        if part in result:
            draw(result, folder)


main()
